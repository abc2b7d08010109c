// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/share"
	"github.com/spangate/spangate/internal/spec"
)

// Budget bounds what overrides cost a process. A field that is 0 has its default.
type Budget struct {
	// Traces is how many overrides can be live at once: they have not ended, select a group
	// that the process has, and began or turned on a span within the last minute. The place of
	// one that is no longer live is free within a second. The default is 1000.
	Traces int
	// SpansPerSecond is how many spans all overrides together turn on in a second, and how many
	// they have sampled that the sampler dropped. The default is 1000.
	SpansPerSecond int
	// SpansPerTrace is how many spans one override turns on. The default is 10,000.
	SpansPerTrace int
	// Time is how long a trace keeps the override that a lease has given it, if the lease does not
	// end before. The default is an hour.
	Time time.Duration
}

var defaultBudget = Budget{Traces: 1000, SpansPerSecond: 1000, SpansPerTrace: 10_000, Time: time.Hour}

// OverrideBudget replaces the bounds on overrides. What they cut is counted in [State] and
// [Metrics]. A guarded site that asks [spangate.Gate.OnContext] counts as a span. In SpansPerTrace, so does
// a span that is sampled for an override only, beside what turned it on. An override that was refused such
// a span has none sampled from then on, so that no span is sampled without its parent.
func OverrideBudget(b Budget) Option { return func(o *options) { o.budget = b } }

// AdmitOverrides lets [Controller.Admit] admit overrides that come from other processes. They may
// turn on every group that the limits allow. Which requests may have one is decided by the
// propagator of package otelgate, which reads none by default:
//
//	var c *control.Controller
//	p, err := otelgate.NewPropagator(base, func(name spangate.OverrideName) *spangate.Override { return c.Admit(name) }, otelgate.Keys(key))
//	…
//	c, err = control.New(r, control.AdmitOverrides(p.Refused))
//
// refused returns what the propagator has refused, for [State], the endpoint and [Metrics]. Those that
// Admit refused are left out: [Overrides.Refused] has them by its reasons. A nil refused has no effect.
func AdmitOverrides(refused func() iter.Seq2[string, uint64]) Option {
	return func(o *options) { o.admit, o.refused = true, refused }
}

// idle is how long an override without a new span counts as live.
const idle = time.Minute

// override is what decides for a [spangate.Override].
type override struct {
	c        *Controller
	self     *spangate.Override
	words    func(*view) words // what it turns on in a view
	end      time.Time         // with a monotonic reading
	resolved atomic.Pointer[resolved]
	spans    atomic.Int64 // turned on
	used     atomic.Int64 // when it last began or turned on a span, as a duration since overrides.start
	// unsampled is nil until a span was not sampled. Then none is, and it has the reason: one of
	// wire.Overrides.Cut, or empty.
	unsampled atomic.Pointer[string]
}

// resolved is what an override turns on in one generation.
type resolved struct {
	generation uint64
	words      words
}

// in returns what o turns on in v: nothing if it is revoked, or if the leases that gave it are gone.
func (o *override) in(v *view) words {
	r := o.resolved.Load()
	if n := v.Number(); r == nil || r.generation != n {
		r = &resolved{generation: n}
		if !v.intent.revokes(o.self.Name().ID) {
			r.words = o.words(v)
		}
		o.resolved.Store(r)
	}
	return r.words
}

// on decides whether a span starts whose groups m of g are off for all; for a nil g, whether one that the
// sampler drops is sampled. It takes no lock, and allocates only at the first span of a generation.
func (o *override) on(g *spangate.Gate, m spangate.Mask) bool {
	all, words := &o.c.overrides, o.in(o.c.view.Load())
	switch {
	case g != nil && words[g]&m == 0:
		return false
	case g == nil && !words.reachable():
		o.stopSampling("")
		return false
	}
	now := time.Now()
	if !now.Before(o.end) {
		return false
	}
	budget, at, rate := o.c.options.budget, now.Sub(all.start), &all.rate
	if g == nil {
		rate = &all.sampleRate
		if cut := o.unsampled.Load(); cut != nil {
			if *cut != "" {
				all.cut.add(*cut)
			}
			return false
		}
	}
	cut := ""
	switch {
	case o.spans.Add(1) > int64(budget.SpansPerTrace):
		cut = wire.CutSpansPerTrace
	case !rate.take(int64(at/time.Second), budget.SpansPerSecond):
		cut = wire.CutSpansPerSecond
	}
	if cut != "" {
		o.spans.Add(-1)
		all.cut.add(cut)
		if g == nil {
			o.stopSampling(cut)
		}
		return false
	}
	o.used.Store(int64(at))
	if g == nil {
		all.sampled.Add(1)
	} else {
		all.spans.Add(1)
	}
	return true
}

// stopSampling has on refuse all further samples: one that is refused now and not later, when a limit is
// lifted or a second has passed, leaves a span without its parent. cut is the reason, or empty if it is
// none of the budget.
func (o *override) stopSampling(cut string) { o.unsampled.CompareAndSwap(nil, &cut) }

// rate counts events of the current second. The zero value is ready to use.
type rate struct {
	word atomic.Uint64 // the second in the upper 32 bits, the events in the lower
}

// take counts an event, unless limit events were counted in this second, or in a later one if
// a caller was faster.
func (r *rate) take(second int64, limit int) bool {
	for {
		word := r.word.Load()
		last, n := int64(word>>32), int(uint32(word))
		if second > last {
			last, n = second, 0
		}
		if n >= limit {
			return false
		}
		if r.word.CompareAndSwap(word, uint64(last)<<32|uint64(n+1)) {
			return true
		}
	}
}

// overrides are the overrides of a controller.
type overrides struct {
	start                            time.Time
	rate, sampleRate                 rate // apart, so that a span that is turned on and sampled counts once in each
	spans, sampled, chosen, received atomic.Uint64
	cut, refused                     tally

	mu   sync.Mutex
	byID map[string]*override // at most Budget.Traces
	full time.Time            // until then, none of byID can be dropped, unless it turns nothing on
	// When byID was last searched for what can be dropped, and the number of the generation then.
	searched   time.Time
	generation uint64
}

func (o *overrides) init() {
	o.start, o.byID = time.Now(), make(map[string]*override)
	o.cut = newTally(wire.CutTraces, wire.CutSpansPerSecond, wire.CutSpansPerTrace)
	o.refused = newTally(wire.RefusedNotAdmitted, wire.RefusedMalformed, wire.RefusedExpired, wire.RefusedFarEnd, wire.RefusedRevoked)
}

// idleAt returns when x is no longer live, unless it turns on another span.
func (o *overrides) idleAt(x *override) time.Time {
	return earlier(x.end, o.start.Add(time.Duration(x.used.Load())+idle))
}

// put returns the override of x's name: the live one of the same id, or x. It returns nil if there are
// too many.
func (c *Controller) put(x *override, name spangate.OverrideName, made *atomic.Uint64) *spangate.Override {
	o, v, now := &c.overrides, c.view.Load(), time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if old := o.byID[name.ID]; old != nil && now.Before(old.end) {
		return old.self
	}
	// A search takes long if the budget is large, so there is at most one a second.
	if len(o.byID) >= c.options.budget.Traces && now.Sub(o.searched) >= time.Second && (!now.Before(o.full) || o.generation != v.Number()) {
		o.full, o.searched, o.generation = now.Add(idle), now, v.Number()
		for id, old := range o.byID {
			if at := o.idleAt(old); at.After(now) && len(old.in(v)) > 0 {
				o.full = earlier(o.full, at)
			} else {
				delete(o.byID, id)
			}
		}
	}
	if len(o.byID) >= c.options.budget.Traces {
		o.cut.add(wire.CutTraces)
		return nil
	}
	x.c, x.self = c, spangate.NewOverride(name, x.on)
	x.used.Store(int64(now.Sub(o.start)))
	o.byID[name.ID] = x
	o.full = earlier(o.full, o.idleAt(x))
	made.Add(1)
	return x.self
}

// live returns how many overrides are live in v.
func (o *overrides) live(v *view) (n int) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range o.byID {
		if o.idleAt(x).After(now) && len(x.in(v)) > 0 {
			n++
		}
	}
	return n
}

// give returns an override for a trace that details have chosen. It turns on what these details do, and
// not what is leased later: its name, by which it is revoked and goes on to other processes, is theirs.
func (c *Controller) give(v *view, made choice, suffix string, details []*detail) *spangate.Override {
	name := spangate.OverrideName{Spec: made.spec, ID: made.id + "-" + suffix}
	now := time.Now()
	end := earlier(made.end, now.Add(c.options.budget.Time))
	if !now.Before(end) || v.intent.revokes(name.ID) {
		return nil
	}
	name.End = end.Round(0)
	words := func(v *view) words { return v.rules.of(details, v.intent) }
	return c.put(&override{words: words, end: end}, name, &c.overrides.chosen)
}

// Begin returns the override that leases with a Share give to the trace, or nil. traceState is the
// value of the member ot of its tracestate, or empty. It is for the option Overrides of package
// otelgate, which calls it where a trace begins, and with RemoteShares where it comes into the process:
//
//	otelgate.Overrides(func(_ context.Context, sc trace.SpanContext) *spangate.Override {
//		return c.Begin(sc.TraceID(), sc.TraceState().Get("ot"))
//	})
//
// The randomness of the trace decides, which is the value rv of traceState if it has one, and else
// the last 7 bytes of id: so all processes that ask choose the same traces, and a larger share has
// those of a smaller one. An id that is not random gives another share than was requested.
//
// Details that choose one trace act together. The override ends with the first of them, or
// after [Budget.Time]; what a detail has turned on in this process goes off with its lease, or
// if the lease's id is revoked. A detail that is leased later does not act on a trace that has an override.
func (c *Controller) Begin(id [16]byte, traceState string) *spangate.Override {
	if c.usable() != nil {
		return nil
	}
	v := c.view.Load()
	if len(v.rules.levels) == 0 {
		return nil
	}
	randomness := share.Randomness(id, traceState)
	made := v.rules.level(randomness)
	if made.id == "" {
		return nil
	}
	// Not in hexadecimal, with which a spec of MaxDetailSpecLen would not fit into a header.
	return c.give(v, made, base64.RawURLEncoding.EncodeToString(id[:]), v.rules.chosenBy(randomness))
}

// Offer returns ctx with the override that leases with a Match give to a request, if its fields
// match. Call it where a request comes in, before its span is started, or later for the spans that
// follow. lookup returns the value of a field, or "" if there is none; it is called for
// the fields that leases have. [http.Header.Get] is such a function:
//
//	ctx := c.Offer(r.Context(), r.Header.Get)
//
// A client that can set a field itself can give its requests an override while a lease matches:
// choose fields accordingly. A ctx that has an override keeps it, also one of another process that turns
// nothing on here, for want of room or of its groups: then no lease acts on the request. A nil ctx counts as
// [context.Background], and a nil lookup as one without fields.
func (c *Controller) Offer(ctx context.Context, lookup func(field string) string) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if c.usable() != nil || lookup == nil {
		return ctx
	}
	v := c.view.Load()
	if len(v.rules.matches) == 0 || spangate.OverrideFromContext(ctx) != nil {
		return ctx
	}
	var matched []*detail
	for field, byValue := range v.rules.matches {
		for _, d := range byValue[lookup(field)] {
			if !slices.ContainsFunc(d.conditions, func(c condition) bool { return lookup(c.field) != c.value }) {
				matched = append(matched, d)
			}
		}
	}
	if matched == nil {
		return ctx
	}
	slices.SortFunc(matched, func(a, b *detail) int { return byEnd(a.lease, b.lease) })
	var made choice
	for _, d := range matched {
		made, _ = made.with(v.Generation, d)
	}
	o := c.give(v, made, strings.ToLower(rand.Text()[:13]), matched)
	if o == nil {
		return ctx
	}
	return spangate.ContextWithOverride(ctx, o)
}

// Admit returns the override of this name, which has come from another process, or nil if it is
// refused: without [AdmitOverrides]; if its end has passed or is further off than [MaxTTL]
// allows and an hour, for clocks that differ; if a lease revokes its id; or if no override can have its spec or id. Two of one id are
// the same override and share its budget. One for which [Budget] has no room turns nothing on here, and
// goes on to other processes.
//
// The caller decides which requests may have an override; the propagator of package otelgate
// takes Admit as its argument.
func (c *Controller) Admit(name spangate.OverrideName) *spangate.Override {
	if c.usable() != nil {
		return nil
	}
	v, now := c.view.Load(), time.Now()
	left, reason := name.End.Sub(now), ""
	switch {
	case !v.intent.admit:
		reason = wire.RefusedNotAdmitted
	case !spec.IsID(name.ID) || nonBlank(name.Spec) == "" || len(name.Spec) > maxOverrideSpec || specProblem(name.Spec) != nil:
		reason = wire.RefusedMalformed
	case left <= 0:
		reason = wire.RefusedExpired
	case left-clockSkew > c.options.maxTTL: // not maxTTL+clockSkew, which may overflow
		reason = wire.RefusedFarEnd
	case v.intent.revokes(name.ID):
		reason = wire.RefusedRevoked
	}
	if reason != "" {
		c.overrides.refused.add(reason)
		return nil
	}
	x := &override{end: now.Add(left)}
	x.words = func(v *view) words {
		if !v.intent.admit {
			return nil
		}
		return v.Words(x.self.Name().Spec)
	}
	if o := c.put(x, name, &c.overrides.received); o != nil {
		return o
	}
	return spangate.NewOverride(name, nil)
}

// clockSkew is how far the clock of another process may be ahead, as in package otelgate.
const clockSkew = time.Hour

// maxOverrideSpec is the length in bytes of the longest spec of an override of another process.
const maxOverrideSpec = 256

// Overrides counts what overrides did in this process, as in [wire.Overrides].
type Overrides struct {
	Admitted                           bool
	Live                               int
	Chosen, Received, Started, Sampled uint64
	Cut, Refused                       []Count // sorted by reason
	Budget                             Budget
}

// Count is how often something happened for one reason.
type Count struct {
	Reason string
	N      uint64
}

// tally counts by reason.
type tally map[string]*atomic.Uint64

func newTally(reasons ...string) tally {
	t := make(tally)
	for _, reason := range reasons {
		t[reason] = new(atomic.Uint64)
	}
	return t
}

func (t tally) add(reason string) { t[reason].Add(1) }

// counts returns the counts that are not 0, and never nil.
func (t tally) counts() []Count {
	counts := []Count{}
	for _, reason := range slices.Sorted(maps.Keys(t)) {
		if n := t[reason].Load(); n > 0 {
			counts = append(counts, Count{reason, n})
		}
	}
	return counts
}

// countOverrides returns the counts as of now. It calls the program.
func (c *Controller) countOverrides(v *view) Overrides {
	o := &c.overrides
	refused := o.refused.counts()
	if c.options.refused != nil {
		for reason, n := range c.options.refused() {
			i := slices.IndexFunc(refused, func(c Count) bool { return c.Reason == reason })
			switch {
			case n == 0 || reason == wire.RefusedNotAdmitted:
			case i >= 0:
				refused[i].N += n
			default:
				refused = append(refused, Count{reason, n})
			}
		}
		slices.SortFunc(refused, func(a, b Count) int { return strings.Compare(a.Reason, b.Reason) })
	}
	return Overrides{
		Admitted: v.intent.admit, Live: o.live(v), Budget: c.options.budget,
		Chosen: o.chosen.Load(), Received: o.received.Load(), Started: o.spans.Load(), Sampled: o.sampled.Load(),
		Cut: o.cut.counts(), Refused: refused,
	}
}
