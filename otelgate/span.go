// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
)

// sdkSpan is a span that is on and whose base is the SDK's. It embeds the SDK's interface,
// since libraries assert a span to [sdktrace.ReadOnlySpan] or ReadWriteSpan.
//
// Methods are promoted and not written out: the SDK's End records a panic only when the
// deferred call reaches it directly, and a promoted method does not count as a call in between.
type sdkSpan struct {
	sdktrace.ReadWriteSpan
	started
}

// otherSpan is a span that is on and whose base is not a recording span of the SDK's: a span
// that was not sampled, or one of another implementation.
type otherSpan struct {
	trace.Span
	started
}

var (
	_ trace.Span             = (*sdkSpan)(nil)
	_ sdktrace.ReadWriteSpan = (*sdkSpan)(nil)
	_ trace.Span             = (*otherSpan)(nil)
)

// TracerProvider returns the gated provider.
func (s *sdkSpan) TracerProvider() trace.TracerProvider { return s.inert.provider }

// TracerProvider returns the gated provider.
func (s *otherSpan) TracerProvider() trace.TracerProvider { return s.inert.provider }

// started is what a gated span adds to the base's.
type started struct {
	inert   inert           // the span of a site that is off right beneath this span
	baseCtx context.Context // as the base's Start returned it, with the base's span in it
	ctx     context.Context // baseCtx with the gated span in it, as the gated Start returned it
	// inertCtx is ctx with inert in it. The first site that is off makes it.
	inertCtx atomic.Pointer[context.Context]
}

// same reports whether a and b are the same context. It compares the words of the interfaces: ==
// calls two functions of the runtime, which costs a span that is on 1 %. Contexts that are equal
// and not the same only cost more.
func same(a, b context.Context) bool {
	return *(*[2]uintptr)(unsafe.Pointer(&a)) == *(*[2]uintptr)(unsafe.Pointer(&b))
}

// beneath returns what the Start of a site that is off returns if the current span of ctx is s.
func (s *started) beneath(ctx context.Context, transparent bool) (context.Context, trace.Span) {
	if transparent {
		return ctx, &s.inert
	}
	if !same(ctx, s.ctx) {
		return trace.ContextWithSpan(ctx, &s.inert), &s.inert
	}
	made := s.inertCtx.Load()
	if made == nil {
		next := trace.ContextWithSpan(ctx, &s.inert)
		made = &next
		s.inertCtx.Store(made) // two goroutines may each make one; both work
	}
	return *made, &s.inert
}

// inert is the span of a site that is off. It has the span context of the span above, and is
// otherwise OpenTelemetry's own no-op span.
type inert struct {
	*origin
	above trace.Span
}

// origin is what a provider, its views and their inert spans share. It has the methods of a no-op
// span, including methods that OpenTelemetry adds to the interface later.
type origin struct {
	noop.Span
	provider      *TracerProvider
	find          func(scope string) (*spangate.Gate, spangate.Mask) // of Discover, or nil
	countWithheld bool
	overrides     func(context.Context, trace.SpanContext) *spangate.Override // of Overrides, or nil
	remoteShares  bool
	oneTrace      bool
	plainRoots    bool                                // without Overrides and OneTrace
	traceID       func(context.Context) trace.TraceID // of OneTrace, or nil
	gates         atomic.Pointer[[]*spangate.Gate]    // the keys of roots; immutable
	errorSpans    errorSpans

	mu    sync.Mutex
	roots map[*spangate.Gate]*rootGroups
	sites map[siteKey]*site
	count counter // the latest that a site got
}

// siteOf returns the site of a key, and whether this call made it. If it did and ask is true, the caller
// must call discover.
func (o *origin) siteOf(key siteKey, ask bool) (s *site, made bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.sites[key]; s != nil {
		return s, false
	}
	s = &site{scope: key.scope, rule: key.rule, order: len(o.sites)}
	if key.rule < len(o.provider.rules) {
		s.transparent = o.provider.rules[key.rule].Transparent
	}
	o.count = o.count.next()
	s.started = o.count
	if o.countWithheld {
		o.count = o.count.next()
		s.withheld = o.count
	}
	if key.gate != nil {
		o.putBehind(s, key.gate, key.group)
	}
	if ask {
		s.found = make(chan struct{})
	}
	o.sites[key] = s
	return s, true
}

// putBehind puts s, which has no gate yet, behind one. The caller holds o.mu.
func (o *origin) putBehind(s *site, gate *spangate.Gate, group spangate.Mask) {
	r := o.roots[gate]
	if r == nil {
		r = new(rootGroups)
		o.roots[gate] = r
		gates := slices.Collect(maps.Keys(o.roots))
		o.gates.Store(&gates)
	}
	s.group, s.roots = group, r
	s.gate.Store(gate)
}

// discover asks the function of Discover about the scope of s. It holds no lock meanwhile, since
// the function is the program's: it may log, and a log handler may start spans, of this scope too.
func (o *origin) discover(s *site) {
	defer close(s.found)
	if gate, group := o.find(s.scope); gate != nil && group != 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.putBehind(s, gate, group)
	}
}

// inDiscover reports whether the caller is called by discover, of any provider.
func inDiscover() bool {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(1, pcs)
	for ; n == len(pcs); n = runtime.Callers(1, pcs) {
		pcs = make([]uintptr, 2*n)
	}
	for frames := runtime.CallersFrames(pcs[:n]); ; {
		frame, more := frames.Next()
		if frame.Function == discoverName {
			return true
		}
		if !more {
			return false
		}
	}
}

var discoverName = runtime.FuncForPC(reflect.ValueOf((*origin).discover).Pointer()).Name()

var _ trace.Span = (*inert)(nil)

// noSpan is what an inert span has for the span above if there is none.
var noSpan trace.Span = noop.Span{}

// SpanContext returns that of the span above.
func (s *inert) SpanContext() trace.SpanContext { return s.above.SpanContext() }

// TracerProvider returns the gated provider.
func (s *inert) TracerProvider() trace.TracerProvider { return s.provider }

// inertContext is a context whose current span is inert. It is used beneath spans that are not
// gated, where it makes inert span and context one allocation. Beneath a gated span the context
// is OpenTelemetry's own, in which Value is faster.
type inertContext struct {
	context.Context
	inert inert
}

// Value returns the inert span under OpenTelemetry's key of the current span.
func (c *inertContext) Value(key any) any {
	if key == spanKey {
		return &c.inert
	}
	return c.Context.Value(key)
}

// underlying returns the span that the base must see if a context holds span: for a gated or
// inert span the base's own, through any number of gated providers over each other.
func underlying(span trace.Span) trace.Span {
	for steps := 0; ; steps++ {
		switch s := span.(type) {
		case *sdkSpan:
			span = s.own(s.ReadWriteSpan, steps)
		case *otherSpan:
			span = s.own(s.Span, steps)
		case *inert:
			span = s.above
		default:
			return span
		}
	}
}

// own returns the span that the base put in its context, given the span that it returned. The
// two differ if the base is a provider that adds profiling labels; when the next span starts,
// such a base expects the span that it put there.
//
// If the base put no span in its context, and the context's values can change, as in a web
// framework's context, the span found there may be s itself, and underlying would never end.
// After more steps than any stack of providers has, own therefore returns the span that the base
// returned, which is older than s.
func (s *started) own(returned trace.Span, steps int) trace.Span {
	if steps > 100 {
		return returned
	}
	return trace.SpanFromContext(s.baseCtx)
}

// bareType is the type of the spans that [trace.ContextWithSpanContext] and propagators make,
// which are a span context only.
var bareType = reflect.TypeOf(trace.SpanFromContext(trace.ContextWithSpanContext(context.Background(), trace.SpanContext{})))

// isBare reports whether span only carries a span context: nothing can be written to it, and
// its TracerProvider starts no spans.
func isBare(span trace.Span) bool {
	_, isNoop := span.(noop.Span)
	return isNoop || reflect.TypeOf(span) == bareType
}
