// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
)

// OverrideKey is the attribute of the first span of each process in a trace with an override. Its
// value is the override's ID. Where a process has put it on a span, the spans of the override's groups
// that the trace lacks beneath were not started, or were over a limit; elsewhere they may have been off.
const OverrideKey = attribute.Key("spangate.override")

// Overrides makes choose decide which override a trace gets, if any. choose is called where a trace
// begins: by the Start of a span without a valid span above, and of one with WithNewRoot, whether its
// group is on or off; with [RemoteShares] also by that of one with a remote parent. It is called only while a gate
// of the provider has a reach, and never for a context that has an override. The override that it
// returns, if that is not nil, is in the context that Start returns. If it returns nil, it is not called
// again for what is started in that context without a span above.
//
// sc is the span context above. Where the trace begins, sc has the trace ID that the trace will have
// if choose returns an override, and no span ID. That ID is drawn at random and flagged so, or is that of
// [OneTrace]. It replaces the one that the IDGenerator of the SDK would draw, which comes too late; a trace
// without an override keeps that.
//
// choose must be safe for concurrent use and must not start spans. A nil choose is
// [ErrInvalidOption].
func Overrides(choose func(ctx context.Context, sc trace.SpanContext) *spangate.Override) Option {
	return optionFunc(func(o *config) {
		if choose == nil {
			o.err = errors.New("Overrides was given a nil function; pass one that returns the override of a trace, or nil")
		}
		o.overrides = choose
	})
}

// RemoteShares makes the function of [Overrides] decide about the traces of other processes too, by the
// trace ID that comes with a request: processes in which the same IDs are chosen choose the same traces,
// without a propagator that carries overrides. A client that sends a trace ID of its choice then decides
// whether its trace gets an override, so use it only where no request comes from outside.
//
// All processes agree only if each trace has the ID that was asked about. So a trace that begins here has
// it also if choose returns nil, in place of the one of the SDK's IDGenerator; and the spans beneath a
// site that is off join that one trace, as with [OneTrace].
func RemoteShares() Option { return optionFunc(func(o *config) { o.remoteShares = true }) }

// OneTrace makes the spans beneath a site that is off join one trace where there is no span above:
// several roots of one trace, and not a trace each. Such a site, a transparent one and [Do] too, puts an
// inert span in the context that has a trace ID and no span ID. The SDK gives that ID to the spans
// beneath. Propagators send nothing until one of them is on.
//
// The ID is drawn at random and flagged so. Instead it may be that of a function, which is for IDs of
// a special format, such as those of AWS X-Ray, and for IDs that several processes know. The function
// gets the context that Start was given, for each span without a span above and each with WithNewRoot.
// One that is on has the function's ID too, in place of the one that the IDGenerator of the SDK would
// draw. If the function returns the zero ID, the span is as without OneTrace. It must be safe for concurrent
// use and must not start spans. A nil function and a second one are [ErrInvalidOption].
func OneTrace(traceID ...func(ctx context.Context) trace.TraceID) Option {
	return optionFunc(func(o *config) {
		o.oneTrace = true
		for _, f := range traceID {
			if f == nil || len(traceID) > 1 {
				o.err = errors.New("OneTrace was given a nil function, or several; pass none, or one that returns a trace ID")
			}
			o.traceID = f
		}
	})
}

// special reports whether a span that is on may need more than the base's Start: it may be a root, or
// the first span that sees an override.
func (o *origin) special() bool { return o.traceID != nil || o.armed() }

// armed reports whether an override may turn on a group of any gate.
func (o *origin) armed() bool {
	gates := o.gates.Load()
	if !spangate.Compiled || gates == nil {
		return false
	}
	for _, gate := range *gates {
		if gate.Reach() != 0 {
			return true
		}
	}
	return false
}

// flagRandom is trace.FlagsRandom, which older versions of OpenTelemetry do not have.
const flagRandom = trace.TraceFlags(2)

// randomTrace returns the span context of a new trace, without a span ID.
func randomTrace() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: flagRandom}
	for !c.TraceID.IsValid() {
		binary.NativeEndian.PutUint64(c.TraceID[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(c.TraceID[8:], rand.Uint64())
	}
	return trace.NewSpanContext(c)
}

// oneTraceOf returns the span context, without a span ID, that OneTrace has the spans beneath a root
// join, or the zero value if it leaves the root alone.
func (o *origin) oneTraceOf(ctx context.Context) trace.SpanContext {
	switch {
	case !o.oneTrace:
		return trace.SpanContext{}
	case o.traceID != nil:
		return trace.SpanContext{}.WithTraceID(o.traceID(ctx))
	}
	return randomTrace()
}

// traceSpan is a span above an inert span that only has a trace ID.
type traceSpan struct {
	noop.Span
	sc trace.SpanContext
}

func (s *traceSpan) SpanContext() trace.SpanContext { return s.sc }

// inTrace returns what the Start of a site that is off returns under no span, for spans beneath to
// be in the trace of sc.
func (t *gatedTracer) inTrace(ctx context.Context, sc trace.SpanContext) (context.Context, trace.Span) {
	c := &inertContext{Context: ctx, inert: inert{t.origin, &traceSpan{sc: sc}}}
	return c, &c.inert
}

// askedKey is the key under which a context records that the function of Overrides was called for it
// by a provider, and chose no override: spans beneath an off site would each begin a trace and call it again.
type askedKey struct{ origin *origin }

func (o *origin) asked(ctx context.Context) bool { return ctx != nil && ctx.Value(askedKey{o}) != nil }

// taggedKey is the key under which a context has the override that a span above has as its attribute.
type taggedKey struct{}

// startSpecial is Start where the gate alone does not decide.
func (t *gatedTracer) startSpecial(ctx context.Context, current any, name string, opts []trace.SpanStartOption, s *site) (context.Context, trace.Span) {
	newRoot := isNewRoot(opts)
	above, ok := current.(trace.Span)
	if !ok || newRoot {
		above = noSpan
	}
	override := spangate.OverrideFromContext(ctx)
	if newRoot && override != nil {
		ctx, override = spangate.ContextWithOverride(ctx, nil), nil
	}
	sc := above.SpanContext()
	root := !sc.HasTraceID() && !above.IsRecording()
	ask := override == nil && t.origin.overrides != nil && t.entersProcess(above) && t.origin.armed() &&
		(!root || newRoot || !t.origin.asked(ctx))
	one := false
	if root {
		sc = t.origin.oneTraceOf(ctx)
		one = sc.HasTraceID()
		if !one && ask {
			sc = randomTrace()
		}
	}
	if ask {
		if override = t.origin.overrides(ctx, sc); override != nil {
			ctx = spangate.ContextWithOverride(ctx, override)
		}
	}
	begins := root && sc.HasTraceID() && (one || override != nil || ask && t.origin.remoteShares) // the trace gets the ID of sc

	gate := s.gate.Load()
	if gate != nil && !gate.On(s.group) && !override.On(gate, s.group) {
		s.countWithheld()
		if begins {
			s.markRoot()
			return t.inTrace(ctx, sc)
		}
		if root && ask {
			ctx = context.WithValue(ctx, askedKey{t.origin}, true)
		}
		return t.off(ctx, current, opts, s)
	}
	baseCtx := ctx
	if begins {
		baseCtx = trace.ContextWithSpanContext(ctx, sc)
		if newRoot {
			opts = withoutNewRoot(opts)
		}
	}
	if override != nil && ctx.Value(taggedKey{}) != any(override) {
		baseCtx = context.WithValue(baseCtx, taggedKey{}, override)
		opts = append(slices.Clip(opts), trace.WithAttributes(OverrideKey.String(override.Name().ID)))
	}
	next, baseSpan := t.base.Start(t.baseContext(baseCtx, baseCtx.Value(spanKey)), name, opts...)
	return t.onOther(ctx, opts, s, next, baseSpan)
}

// entersProcess reports whether a trace begins with a span beneath above, or, with RemoteShares, comes
// from another process. It is false beneath an inert span of a trace, where that was so before.
func (t *gatedTracer) entersProcess(above trace.Span) bool {
	sc := above.SpanContext()
	if i, ok := above.(*inert); ok && i.origin == t.origin {
		return !sc.HasTraceID()
	}
	return t.origin.remoteShares && sc.IsRemote() || !sc.IsValid() && !above.IsRecording()
}

// mayOverride reports whether an override could turn on a span that is started in ctx.
func (t *gatedTracer) mayOverride(ctx context.Context) bool {
	if spangate.OverrideFromContext(ctx) != nil {
		return true
	}
	above := trace.SpanFromContext(ctx)
	return t.origin.overrides != nil && t.entersProcess(above) && (above.SpanContext().HasTraceID() || !t.origin.asked(ctx))
}

// withoutNewRoot returns the options of opts other than WithNewRoot. It can't be told from those of
// links and kind, which are made anew.
func withoutNewRoot(opts []trace.SpanStartOption) []trace.SpanStartOption {
	c := startConfig(opts)
	kept := []trace.SpanStartOption{trace.WithLinks(c.Links()...), trace.WithSpanKind(c.SpanKind())}
	for _, opt := range opts {
		_, attributes := opt.(trace.EventOption)
		_, experimental := opt.(interface{ Experimental() })
		if attributes || experimental {
			kept = append(kept, opt)
		}
	}
	return kept
}
