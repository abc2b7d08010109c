// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"go.opentelemetry.io/otel/attribute"
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
	// ErrInvalidRule is a rule with a field that is not valid, as [Rule] says, or with a group
	// that the catalog of [Names] does not have.
	ErrInvalidRule = errors.New("invalid rule")
	// ErrInvalidOption is an option other than a rule that has an invalid argument.
	ErrInvalidOption = errors.New("invalid option")
)

// TracerProvider is a [trace.TracerProvider] whose spans a gate turns on and off. Make one with
// [NewTracerProvider]; the zero value and nil start no spans. It is safe for concurrent use and
// must not be copied.
//
// Group, Transparent and WithGate return views: providers of the same base and rules that
// differ in one respect. The TracerProvider of a view's span is the provider that the view was
// made from, since the spans of code that finds its provider through a span need not be of the
// view's group.
type TracerProvider struct {
	embedded.TracerProvider

	base  trace.TracerProvider
	rules []Rule
	gate  *spangate.Gate

	group       *spangate.Mask // of every scope, in place of the rules; nil: the rules decide
	transparent bool           // every site is transparent, whatever the rules say

	// origin is shared with the views of the provider.
	origin *origin
	// none is the inert span of a site that is off under no span.
	none inert

	mu      sync.RWMutex
	tracers map[scope]*gatedTracer
}

// scope is the key of a tracer in its provider.
type scope struct {
	name, version, schemaURL string
	attributes               attribute.Distinct
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider that starts spans of base while their groups are on. The
// first rule that matches a span's scope, name and kind gives its group; a span without a rule is
// always on, unless its scope is found by [Discover].
//
// It fails, with [ErrNilProvider], [ErrPlaceholder], [ErrNilGate], [ErrInvalidRule] or
// [ErrInvalidOption], on a base or gate that is nil, on an invalid option, and on the
// placeholder that otel.GetTracerProvider returns until a provider is installed: after this
// provider was installed, the two would delegate to each other forever.
func NewTracerProvider(base trace.TracerProvider, gate *spangate.Gate, opts ...Option) (*TracerProvider, error) {
	if isNil(base) {
		return nil, fmt.Errorf("otelgate: %w (%T); pass the SDK's provider", ErrNilProvider, base)
	}
	if isPlaceholder(base) {
		return nil, fmt.Errorf("otelgate: %w, which would delegate to itself; pass the SDK's provider, as made by sdktrace.NewTracerProvider", ErrPlaceholder)
	}
	if gate == nil {
		return nil, fmt.Errorf("otelgate: %w; pass a *spangate.Gate, new(spangate.Gate) has everything off", ErrNilGate)
	}
	c := config{errorSpans: defaultErrorSpans}
	for _, opt := range opts {
		if !isNil(opt) {
			opt.apply(&c)
		}
	}
	if err := c.validate(gate); err != nil {
		return nil, err
	}
	p := &TracerProvider{base: base, rules: c.rules, gate: gate}
	p.origin = &origin{
		provider: p, find: c.find, countWithheld: c.countWithheld,
		overrides: c.overrides, remoteShares: c.remoteShares, oneTrace: c.oneTrace, traceID: c.traceID, plainRoots: c.overrides == nil && !c.oneTrace, errorSpans: errorSpans{perSecond: c.errorSpans},
		roots: make(map[*spangate.Gate]*rootGroups), sites: make(map[siteKey]*site),
	}
	p.none = inert{p.origin, noSpan}
	return p, nil
}

// isNil reports whether v, a provider or an option, is nil or a nil pointer in an interface. Of the
// other kinds that can be nil, none can be a provider, which must embed a type of OpenTelemetry's,
// and nil [Rules] are a valid option without rules.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// isPlaceholder reports whether base is what otel.GetTracerProvider, or otel.GetTextMapPropagator, returns until one is
// installed. It looks at the type, which is not exported: a comparison with the present result
// of otel.GetTracerProvider would miss a placeholder that was fetched earlier.
func isPlaceholder(base any) bool {
	t := reflect.TypeOf(base)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}

// Tracer returns the base's tracer of this scope behind the gate. It is the same tracer every
// time for the same name, version, schema URL and attributes.
func (p *TracerProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if p == nil || p.base == nil {
		return noop.Tracer{}
	}
	key := scope{name: cmp.Or(name, EmptyScope)}
	if len(opts) > 0 {
		c := trace.NewTracerConfig(opts...)
		key.version, key.schemaURL = c.InstrumentationVersion(), c.SchemaURL()
		if attributes := c.InstrumentationAttributes(); attributes.Len() > 0 {
			key.attributes = attributes.Equivalent()
		}
	}
	p.mu.RLock()
	t := p.tracers[key]
	p.mu.RUnlock()
	if t == nil {
		t = p.keep(key, p.newTracer(p.base.Tracer(name, opts...), p.sitesOf(key.name)))
	}
	t.sites.rest.wait()
	return t
}

// keep returns the tracer that p has for key, which is t unless there was one.
func (p *TracerProvider) keep(key scope, t *gatedTracer) *gatedTracer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.tracers[key]; first != nil {
		return first
	}
	if p.tracers == nil {
		p.tracers = make(map[scope]*gatedTracer)
	}
	p.tracers[key] = t
	return t
}

func (p *TracerProvider) newTracer(base trace.Tracer, s sites) *gatedTracer {
	if base == nil {
		base = noop.Tracer{} // a faulty base must not make its callers panic
	}
	t := &gatedTracer{base: base, origin: p.origin, sites: s, transparent: p.transparent}
	t.forDo = &gatedTracer{base: base, origin: p.origin, sites: s, transparent: true}
	return t
}

// sitesOf returns the sites of a scope's spans. The first call for a scope that no rule names asks
// the function of Discover.
func (p *TracerProvider) sitesOf(scope string) (all sites) {
	rest := siteKey{scope: scope, rule: len(p.rules)}
	if p.group != nil {
		rest.gate, rest.group = p.gate, *p.group
		all.rest, _ = p.origin.siteOf(rest, false)
		return all
	}
	named := false
	for i, r := range p.rules {
		if !matches(r.Scope, scope) {
			continue
		}
		s, _ := p.origin.siteOf(siteKey{scope, i, cmp.Or(r.Gate, p.gate), r.Group}, false)
		if matchesAny(r.Name) && r.Kind == trace.SpanKindUnspecified {
			all.rest = s
			return all
		}
		all.special = append(all.special, special{r.Name, r.Kind, s})
		named = named || !matchesAny(r.Scope)
	}
	ask, made := !named && p.origin.find != nil, false
	if all.rest, made = p.origin.siteOf(rest, ask); made && ask {
		p.origin.discover(all.rest)
	}
	return all
}

// Roots returns the groups of gate whose sites have been off where their span would have begun
// a trace: there was no valid span in the context, or the caller gave WithNewRoot. While
// such a group is off, spans beneath its sites begin a trace each, and libraries that start
// nothing unless the span above records start nothing at all; control.Roots reports that to
// an operator. Roots returns the empty set for a gate that p does not know.
func (p *TracerProvider) Roots(gate *spangate.Gate) spangate.Mask {
	if p == nil || p.origin == nil {
		return 0
	}
	p.origin.mu.Lock()
	defer p.origin.mu.Unlock()
	r := p.origin.roots[gate]
	if r == nil {
		return 0
	}
	return spangate.Mask(r.word.Load())
}

// Group returns a view of p in which every scope is of group g, whatever the rules say. The
// view of an empty g is always off.
func (p *TracerProvider) Group(g spangate.Mask) *TracerProvider {
	view := p.view()
	view.group = &g
	return view
}

// Transparent returns a view of p whose sites leave the context unchanged while they are off,
// for code that meets the condition of [Rule.Transparent]. Don't give the view to a library.
func (p *TracerProvider) Transparent() *TracerProvider {
	view := p.view()
	view.transparent = true
	return view
}

// WithGate returns a view of p in which gate, of another namespace, replaces p's own: for rules
// without a gate, and for views that the view's Group returns. Code that finds its provider
// through a span of the view gets p, with p's own gate: the groups of p's rules are of p's
// namespace. A nil gate changes nothing.
func (p *TracerProvider) WithGate(gate *spangate.Gate) *TracerProvider {
	view := p.view()
	view.gate = cmp.Or(gate, view.gate)
	return view
}

func (p *TracerProvider) view() *TracerProvider {
	if p == nil {
		return new(TracerProvider)
	}
	return &TracerProvider{base: p.base, rules: p.rules, gate: p.gate, group: p.group, transparent: p.transparent, origin: p.origin}
}

// Shutdown calls Shutdown of the base, if it has that method.
func (p *TracerProvider) Shutdown(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if base, ok := p.base.(interface {
		Shutdown(ctx context.Context) error
	}); ok {
		return base.Shutdown(ctx)
	}
	return nil
}

// ForceFlush calls ForceFlush of the base, if it has that method.
func (p *TracerProvider) ForceFlush(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if base, ok := p.base.(interface {
		ForceFlush(ctx context.Context) error
	}); ok {
		return base.ForceFlush(ctx)
	}
	return nil
}
