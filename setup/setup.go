// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
)

// Parts is what [New] makes. The fields must not be changed. The zero value has no parts; its Close,
// and that of nil, does nothing. A Parts must not be copied; its methods may be called from any
// goroutine.
type Parts struct {
	// TracerProvider starts spans of the base while their groups are on. Install it with
	// otel.SetTracerProvider, or pass it to libraries.
	TracerProvider *otelgate.TracerProvider
	// Controller decides which groups are on.
	Controller *control.Controller
	// Handler is the endpoint of Controller, as [control.Handler] returns it.
	Handler http.Handler
	// Registry has the groups. Libraries with catalogs of their own register with it at any time.
	Registry *registry.Registry

	mu         sync.Mutex
	namespaces []string // registered by New, in this order; Close unregisters them
}

// New returns a provider that gates base, and a controller and endpoint for its groups.
//
// Without options, the registry is [registry.Default], the baseline is default, and the endpoint
// refuses changes. So every span is on until a person or the program decides otherwise: each
// scope that no rule names has a group of its own in preset default, as [registry.Scopes] says,
// and the groups of [Rules] are in it too.
//
// The error is one of [otelgate.NewTracerProvider], as for a base that is nil or OpenTelemetry's
// global placeholder; of an option; of [registry.Registry.Register]; or of [control.New], as for a
// registry that has a controller. After an error nothing is left registered or running.
func New(base trace.TracerProvider, opts ...Option) (*Parts, error) {
	o := options{
		registry: registry.Default(),
		baseline: control.Baseline{Spec: "default", Why: "package setup was given no configuration"},
		rules:    ruleGroups{gate: new(spangate.Gate)},
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	gate, gated := o.rules.gate, []otelgate.Option{otelgate.Discover(registry.Scopes(o.registry))}
	if len(o.catalogs) > 0 {
		gate, gated = o.catalogs[0].gate, append(gated, otelgate.Names(o.catalogs[0].catalog))
	}
	provider, err := otelgate.NewTracerProvider(base, gate, append(gated, o.gated...)...)
	if err != nil {
		return nil, err
	}
	p := &Parts{Registry: o.registry, TracerProvider: provider}
	if err := p.start(&o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.warn(&o)
	return p, nil
}

// warn logs what the author of a program may not have meant.
func (p *Parts) warn(o *options) {
	if o.noToken {
		slog.Warn("spangate: setup.Token has a blank token, so the endpoint refuses every change")
	}
	if o.disabled == "" {
		return
	}
	if b := p.Controller.State().Baseline; b.Who == o.baseline.Who && strings.HasPrefix(b.Why, o.disabled) {
		slog.Warn("spangate: the environment does not enable spans, so every span is off", slog.String("why", b.Why))
	}
}

// start registers the catalogs and starts the controller.
func (p *Parts) start(o *options) error {
	register := func(c catalog) error {
		err := p.Registry.Register(c.catalog, c.gate, c.opts...)
		if err == nil {
			p.namespaces = append(p.namespaces, c.catalog.Namespace())
		}
		return err
	}
	for _, c := range o.catalogs {
		if err := register(c); err != nil {
			return err
		}
	}
	// The rules' catalog is registered even if it has no groups: its preset makes default a name
	// before the first scope is seen.
	rules, err := o.rules.catalog(p.Registry.Groups())
	if err != nil {
		return err
	}
	made := catalog{rules, o.rules.gate, []registry.RegisterOption{registry.Shared()}}
	if err := register(made); err != nil {
		return fmt.Errorf("%w; if the namespace is of another setup.New, close its Parts first, or use another registry", err)
	}
	spans := spans{p.TracerProvider, append(o.catalogs, made), o.ready, o.withheld}
	controls := append([]control.Option{
		control.StartupBaseline(o.baseline), control.Roots(p.TracerProvider.Roots), control.Scopes(spans.list),
	}, o.control...)
	if p.Controller, err = control.New(p.Registry, controls...); err != nil {
		return err
	}
	p.Handler = control.Handler(p.Controller, o.handler...)
	if o.file != "" {
		_, err = p.Controller.WatchFile(o.file, o.watch...)
	}
	return err
}

// Close closes the controller, which ends its leases and stops reading the file. It unregisters the
// catalogs of [Catalog] and [Rules], whose groups are off from then on, so call it when the program
// starts no more spans. Groups of discovered scopes stay registered, and on if the baseline has
// them. Close does not shut the base down. A second Close does nothing.
//
// The error is one of [control.Controller.Close], or of [registry.Registry.Unregister] for a
// namespace that the program has unregistered itself.
func (p *Parts) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	if p.Controller != nil {
		errs = append(errs, p.Controller.Close())
	}
	for _, namespace := range slices.Backward(p.namespaces) {
		errs = append(errs, p.Registry.Unregister(namespace))
	}
	p.namespaces = nil
	return errors.Join(errs...)
}
