// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
)

// The reasons for which [NewTracerProvider] refuses its arguments.
var (
	// ErrNilProvider is a base that is nil, or a nil pointer in an interface.
	ErrNilProvider = errors.New("nil base provider")
	// ErrPlaceholder is a base that is OpenTelemetry's own global placeholder.
	ErrPlaceholder = errors.New("the base is OpenTelemetry's global placeholder")
	// ErrNilGate is a gate that is nil.
	ErrNilGate = errors.New("nil gate")
	// ErrInvalidRule is a rule that can't be meant.
	ErrInvalidRule = errors.New("invalid rule")
)

// TracerProvider is a [trace.TracerProvider] whose spans stand behind a gate. Make one with
// [NewTracerProvider]; the zero value starts no spans. It may be used by any number of
// goroutines and must not be copied.
type TracerProvider struct {
	embedded.TracerProvider

	base  trace.TracerProvider
	rules []Rule
	gate  *spangate.Gate

	// A view made by Group has one switcher for every scope, in place of the rules.
	every *switcher

	// root is the provider that this one is a view of, or itself. Spans answer with it
	// when they are asked for their provider: what is found through a span of one group
	// is not itself of that group.
	root *TracerProvider
	// none is the inert span of a site that is off under no span.
	none inert
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider that starts the spans of base for which the rules
// find a group that is on. The first rule that matches a span's scope and kind decides; a
// scope without a rule passes through ungated. The rules are copied.
//
// It fails, with [ErrNilProvider], [ErrPlaceholder], [ErrNilGate] or [ErrInvalidRule], on a
// base or gate that is nil, on a rule that can't be meant, and on the placeholder that
// otel.GetTracerProvider returns until a provider is installed: once this one were
// installed, the placeholder would delegate to it and it to the placeholder, for ever.
func NewTracerProvider(base trace.TracerProvider, gate *spangate.Gate, rules ...Rule) (*TracerProvider, error) {
	if isNil(base) {
		return nil, fmt.Errorf("otelgate: %w (%T); pass the SDK's provider", ErrNilProvider, base)
	}
	if isPlaceholder(base) {
		return nil, fmt.Errorf("otelgate: %w, which would delegate to itself; pass the SDK's provider, as made by sdktrace.NewTracerProvider", ErrPlaceholder)
	}
	if gate == nil {
		return nil, fmt.Errorf("otelgate: %w; pass a *spangate.Gate, new(spangate.Gate) has everything off", ErrNilGate)
	}
	for i, r := range rules {
		if err := r.validate(); err != nil {
			return nil, fmt.Errorf("otelgate: %w: rule %d: %w", ErrInvalidRule, i, err)
		}
	}
	p := &TracerProvider{base: base, rules: slices.Clone(rules), gate: gate}
	p.root = p
	p.none = newInert(p, noSpan)
	return p, nil
}

// isNil reports whether base is nil or a nil pointer in an interface. Nothing else that can
// be nil can be a provider: it has to embed one of OpenTelemetry's types.
func isNil(base trace.TracerProvider) bool {
	if base == nil {
		return true
	}
	v := reflect.ValueOf(base)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// isPlaceholder reports whether base is what otel.GetTracerProvider returns until a
// provider is installed. The type is not exported, and comparing with what
// otel.GetTracerProvider returns now would miss a placeholder that was fetched earlier.
func isPlaceholder(base trace.TracerProvider) bool {
	t := reflect.TypeOf(base)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}

// Tracer returns the base's tracer of this scope behind the gate. Tracers that differ in
// version, schema URL or attributes are the base's to tell apart.
func (p *TracerProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if p.base == nil {
		return noop.Tracer{}
	}
	t := &tracer{base: p.base.Tracer(name, opts...), root: p.root}
	if p.every != nil {
		t.one = *p.every
		return t
	}
	kinds := switchers(p.rules, name, p.gate)
	if kinds.same() {
		t.one = kinds[trace.SpanKindInternal]
	} else {
		t.kinds = &kinds
	}
	return t
}

// Group returns a view of p in which every scope is of group g, whatever the rules say. The
// view of an empty g is always off.
func (p *TracerProvider) Group(g spangate.Mask) *TracerProvider {
	view := p.view()
	view.every = &switcher{gate: p.gate, group: g}
	return view
}

// In returns a view of p over another namespace's gate, which then decides wherever p's own
// gate would: in rules that name no gate, and in views made by Group. What is found through
// a span of the view is decided by p's own gate and rules again, whose groups are of p's
// namespace. A nil gate changes nothing.
func (p *TracerProvider) In(gate *spangate.Gate) *TracerProvider {
	view := p.view()
	if gate == nil {
		return view
	}
	view.gate = gate
	if p.every != nil {
		view.every = &switcher{gate: gate, group: p.every.group}
	}
	return view
}

func (p *TracerProvider) view() *TracerProvider {
	return &TracerProvider{base: p.base, rules: p.rules, gate: p.gate, every: p.every, root: p.root}
}

// Shutdown shuts the base down, if it can be.
func (p *TracerProvider) Shutdown(ctx context.Context) error {
	if base, ok := p.base.(interface{ Shutdown(context.Context) error }); ok {
		return base.Shutdown(ctx)
	}
	return nil
}

// ForceFlush has the base export the spans that have ended, if it can.
func (p *TracerProvider) ForceFlush(ctx context.Context) error {
	if base, ok := p.base.(interface{ ForceFlush(context.Context) error }); ok {
		return base.ForceFlush(ctx)
	}
	return nil
}
