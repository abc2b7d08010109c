// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
)

// Parts is what [New] makes. The fields must not be changed. The zero value has no parts; its Close,
// and that of nil, does nothing. Its methods may be called from any goroutine.
type Parts struct {
	// TracerProvider starts spans of the base while their groups are on. Install it with
	// otel.SetTracerProvider, or pass it to libraries.
	TracerProvider *otelgate.TracerProvider
	// Controller decides which groups are on. Its leases may act on a share of the traces
	// that begin in the process ([control.LeaseRequest.Share]), with [otelgate.RemoteShares] in [Provider]
	// also of others, and on those of some requests if the program calls
	// [control.Controller.Offer].
	Controller *control.Controller
	// Propagator is that of [Overrides], or nil.
	Propagator *otelgate.Propagator
	// Handler is the endpoint of Controller, as [control.Handler] returns it.
	Handler http.Handler
	// Registry has the groups. Libraries with catalogs of their own register with it at any time.
	Registry *registry.Registry
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
// registry that has a controller. After an error nothing is changed or left running.
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
	p := &Parts{Registry: o.registry}
	gate, gated := o.rules.gate, []otelgate.Option{
		otelgate.Discover(registry.Scopes(o.registry)),
		otelgate.Overrides(func(_ context.Context, sc trace.SpanContext) *spangate.Override {
			return p.Controller.Begin(sc.TraceID(), sc.TraceState().Get("ot"))
		}),
	}
	if len(o.catalogs) > 0 {
		gate, gated = o.catalogs[0].gate, append(gated, otelgate.Names(o.catalogs[0].catalog))
	}
	var err error
	if p.TracerProvider, err = otelgate.NewTracerProvider(base, gate, append(gated, o.gated...)...); err != nil {
		return nil, err
	}
	if o.propagator != nil {
		if p.Propagator, err = o.propagator(func(name spangate.OverrideName) *spangate.Override { return p.Controller.Admit(name) }); err != nil {
			return nil, err
		}
	}
	rules, err := o.rules.catalog()
	if err != nil {
		return nil, err
	}
	// The rules' catalog is registered even if it has no groups: its preset makes default a name
	// before the first scope is seen.
	catalogs := append(o.catalogs, catalog{rules, o.rules.gate, []registry.RegisterOption{registry.Yield()}})
	spans := spans{p.TracerProvider, catalogs, o.ready, o.withheld}
	controls := []control.Option{
		control.StartupBaseline(o.baseline), control.Roots(p.TracerProvider.Roots), control.Scopes(spans.list),
	}
	if o.admits {
		controls = append(controls, control.AdmitOverrides(p.Propagator.Refused))
	}
	for _, c := range catalogs {
		controls = append(controls, control.Catalog(c.catalog, c.gate, c.opts...))
	}
	if o.file != "" {
		controls = append(controls, control.Watch(o.file, o.watch...))
	}
	p.Controller, err = control.New(o.registry, append(controls, o.control...)...)
	if errors.Is(err, registry.ErrNamespaceTaken) {
		return nil, fmt.Errorf("%w; if the namespace is of another setup.New, close its Parts first, or use another registry", err)
	}
	if err != nil {
		return nil, err
	}
	p.Handler = control.Handler(p.Controller, o.handler...)
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

// Close closes the controller, which ends its leases and stops reading the file. It unregisters the
// catalogs of [Catalog] and [Rules], unless the program has replaced or unregistered them; their groups
// are off from then on, so call it when the program starts no more spans. Groups of discovered scopes stay
// registered, and on if the baseline has them. Close does not shut the base down. A second Close does nothing.
//
// The error is one of [control.Controller.Close].
func (p *Parts) Close() error {
	if p == nil || p.Controller == nil {
		return nil
	}
	return p.Controller.Close()
}
