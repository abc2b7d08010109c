// SPDX-License-Identifier: Apache-2.0

// Package sampling_test tests shares and otelsdk.SampleOverridden together with samplers: those of the
// SDK, and one that follows OpenTelemetry's specification of probability sampling, by the
// Collector's implementation of it.
package sampling_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	collector "github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/internal/share"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/otelsdk"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

// consistent is a sampler of consistent probability: it keeps a trace if its randomness reaches the
// threshold, and puts the threshold into the tracestate of what it keeps.
type consistent struct{ threshold collector.Threshold }

func newConsistent(t require.TestingT, probability float64, digits int) sdktrace.Sampler {
	threshold, err := collector.ProbabilityToThresholdWithPrecision(probability, digits)
	require.NoError(t, err)
	return consistent{threshold}
}

func (c consistent) Description() string { return "consistent{" + c.threshold.TValue() + "}" }

func (c consistent) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	state := trace.SpanContextFromContext(p.ParentContext).TraceState()
	var ot collector.OpenTelemetryTraceState
	if value := state.Get("ot"); value != "" {
		var err error
		if ot, err = collector.NewOpenTelemetryTraceState(value); err != nil {
			panic(err)
		}
	}
	randomness, explicit := ot.RValueRandomness()
	if !explicit {
		randomness = collector.TraceIDToRandomness([16]byte(p.TraceID))
	}
	if !c.threshold.ShouldSample(randomness) {
		return sdktrace.SamplingResult{Tracestate: state}
	}
	ot.ClearTValue()
	if err := ot.UpdateTValueWithSampling(c.threshold); err != nil {
		panic(err)
	}
	var text strings.Builder
	if err := ot.Serialize(&text); err != nil {
		panic(err)
	}
	state, err := state.Insert("ot", text.String())
	if err != nil {
		panic(err)
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample, Tracestate: state}
}

// inState returns a context without a span above whose tracestate has ot.
func inState(t require.TestingT, ot string) context.Context {
	var state trace.TraceState
	if ot != "" {
		var err error
		state, err = state.Insert("ot", ot)
		require.NoError(t, err)
	}
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceState: state}))
}

func TestShareHasTheTracesThatAConsistentSamplerOfTheSameRateKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(share.Smallest, 1).Draw(t, "rate")
		if small := rapid.IntRange(0, 40).Draw(t, "halvings"); rate > share.Smallest*float64(uint64(1)<<small) {
			rate /= float64(uint64(1) << small)
		}
		threshold := share.ThresholdOf(rate)
		theirs, err := collector.ProbabilityToThreshold(rate)
		require.NoError(t, err)
		require.Equal(t, theirs.Unsigned(), uint64(threshold), "%g", rate)

		// Most randomness is drawn near the threshold.
		r := rapid.Uint64Range(0, 1<<56-1).Draw(t, "randomness")
		if near := rapid.IntRange(-2, 10).Draw(t, "near"); near <= 2 {
			r = min(uint64(threshold)+uint64(near), 1<<56-1)
		}
		var id trace.TraceID
		_, _ = rand.Read(id[:9])
		ot := ""
		if rapid.Bool().Draw(t, "explicit") {
			known, err := collector.UnsignedToRandomness(r)
			require.NoError(t, err)
			ot = "rv:" + known.RValue()
		} else {
			binary.BigEndian.PutUint64(id[8:], uint64(id[8])<<56|r)
		}
		sampled := newConsistent(t, rate, 14).ShouldSample(sdktrace.SamplingParameters{ParentContext: inState(t, ot), TraceID: id})
		require.Equal(t, sampled.Decision == sdktrace.RecordAndSample, threshold.Has(share.Randomness(id, ot)), "%g, %x, %q", rate, id, ot)
	})
}

// SDKs round the threshold to 4 digits, so that of equal rates one may keep a few traces more. A share
// of half the rate is among what the sampler keeps.
func TestTracesOfAShareAreAmongThoseOfAConsistentSamplerOfALargerRate(t *testing.T) {
	for _, rate := range []float64{0.0001, 0.001, 0.01, 1.0 / 3, 1} {
		sampler, half, equal := newConsistent(t, rate, 4), share.ThresholdOf(rate/2), share.ThresholdOf(rate)
		differ := 0
		for range 100_000 {
			var id trace.TraceID
			_, _ = rand.Read(id[:])
			sampled := sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}).Decision == sdktrace.RecordAndSample
			if r := share.Randomness(id, ""); half.Has(r) {
				require.True(t, sampled, "%g, %s", rate, id)
			} else if equal.Has(r) != sampled {
				differ++
			}
		}
		require.Less(t, differ, 100, "%g", rate)
	}
}

// process is a process with a controller, a gated provider above the SDK, and a propagator.
type process struct {
	*setup.Parts
	gate     *spangate.Gate
	exported *tracetest.InMemoryExporter
}

// newProcess makes a process. Its group job is on for all, and its scopes are called as the groups.
func newProcess(t *testing.T, sampler sdktrace.Sampler, budget control.Budget) process {
	p := process{gate: new(spangate.Gate), exported: tracetest.NewInMemoryExporter()}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(p.exported), sdktrace.WithSampler(sampler))
	var err error
	p.Parts, err = setup.New(sdk, setup.Registry(registry.New()), setup.Catalog(spangate.Gym, p.gate),
		setup.RulesText("job = job\nverify = verify"),
		setup.Control(control.StartupBaseline(control.Baseline{Spec: "job"}), control.OverrideBudget(budget)),
		setup.Overrides(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}), otelgate.Keys([]byte("0123456789abcdef0123456789abcdef"))))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Controller.Close()) })
	return p
}

// work starts a span of job and one of verify beneath it, and calls inner in that.
func (p process) work(ctx context.Context, inner func(context.Context)) {
	ctx, job := p.TracerProvider.Tracer("job").Start(ctx, "job")
	defer job.End()
	ctx, verify := p.TracerProvider.Tracer("verify").Start(ctx, "verify")
	defer verify.End()
	inner(ctx)
}

func (p process) names() []string {
	var names []string
	for _, s := range p.exported.GetSpans() {
		names = append(names, s.Name)
	}
	return names
}

// Of two processes, both drop what comes without an override. Requests carry a remote parent that is not
// sampled, and a threshold.
func TestTraceOfACustomerIsSampledInBothProcessesUnderEverySampler(t *testing.T) {
	for name, base := range map[string]sdktrace.Sampler{
		"AlwaysOff":                    sdktrace.NeverSample(),
		"ParentBased(AlwaysOff)":       sdktrace.ParentBased(sdktrace.NeverSample()),
		"ParentBased(consistent)":      sdktrace.ParentBased(newConsistent(t, 1e-9, 4)),
		"consistent":                   newConsistent(t, 1e-9, 4),
		"consistent that keeps all":    newConsistent(t, 1, 4),
		"ParentBased(ratio 1/1000000)": sdktrace.ParentBased(sdktrace.TraceIDRatioBased(1e-6)),
	} {
		t.Run(name, func(t *testing.T) {
			front := newProcess(t, otelsdk.SampleOverridden(base), control.Budget{})
			back := newProcess(t, otelsdk.SampleOverridden(base), control.Budget{})
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				back.work(back.Propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), func(context.Context) {})
			}))
			defer server.Close()
			client := http.Client{Transport: otelhttp.NewTransport(http.DefaultTransport,
				otelhttp.WithTracerProvider(front.TracerProvider), otelhttp.WithPropagators(front.Propagator))}
			_, err := front.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Match: "customer=42", TTL: time.Minute})
			require.NoError(t, err)
			request := func(customer, parent string) {
				ctx := front.Propagator.Extract(t.Context(), propagation.MapCarrier{"traceparent": parent, "tracestate": "ot=th:fd70a;rv:00000000000001,a=b"})
				front.work(front.Controller.Offer(ctx, func(string) string { return customer }), func(ctx context.Context) {
					r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
					require.NoError(t, err)
					resp, err := client.Do(r)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
				})
			}
			all := name == "consistent that keeps all"
			for _, parent := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00"} {
				front.exported.Reset()
				back.exported.Reset()
				request("43", parent)
				if all {
					assert.Contains(t, front.exported.GetSpans()[0].SpanContext.TraceState().String(), "th:0", "without an override")
				} else {
					require.Empty(t, front.names())
					require.Empty(t, back.names())
				}

				front.exported.Reset()
				back.exported.Reset()
				request("42", parent)
				require.Subset(t, front.names(), []string{"verify", "job"})
				require.Subset(t, back.names(), []string{"verify", "job"})
				for _, s := range append(front.exported.GetSpans(), back.exported.GetSpans()...) {
					state := s.SpanContext.TraceState()
					assert.NotContains(t, state.String(), "th:", s.Name)
					if parent != "" {
						assert.Equal(t, "b", state.Get("a"))
						assert.Equal(t, "rv:00000000000001", state.Get("ot"))
					}
				}
			}
		})
	}
}

// A share has its traces sampled, and the rate of the sampler holds for all others.
func TestShareBesideASamplerSamplesTheTracesOfBoth(t *testing.T) {
	for _, base := range []sdktrace.Sampler{sdktrace.TraceIDRatioBased(0.001), newConsistent(t, 0.001, 4)} {
		p := newProcess(t, otelsdk.SampleOverridden(sdktrace.ParentBased(base)), control.Budget{Traces: 1e6, SpansPerSecond: 1e6})
		_, err := p.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Share: 0.01, TTL: time.Minute})
		require.NoError(t, err)
		threshold, in := share.ThresholdOf(0.01), 0
		for range 20_000 {
			ctx, span := p.TracerProvider.Tracer("job").Start(context.Background(), "job")
			id := span.SpanContext().TraceID()
			overridden := spangate.OverrideFromContext(ctx) != nil
			kept := base.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}).Decision == sdktrace.RecordAndSample
			require.Equal(t, overridden || kept, span.SpanContext().IsSampled(), "%s: %s", base.Description(), id)
			require.Equal(t, overridden, p.gate.OnContext(ctx, spangate.BitVerify), id)
			if overridden {
				require.True(t, threshold.Has(share.Randomness(id, "")), id)
				in++
			}
			span.End()
		}
		require.InDelta(t, 200, in, 100)
	}
}

// The ID of a trace leaves room in the header for the longest spec of a detail, and a signature.
func TestOverrideOfAShareTravelsWithTheLongestSpec(t *testing.T) {
	p := newProcess(t, sdktrace.AlwaysSample(), control.Budget{})
	spec := strings.Repeat("verify,", 17) + "verifying"
	spec = spec[:len(spec)-2]
	require.Len(t, url.PathEscape(spec), control.MaxDetailSpecLen)
	_, err := p.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: spec, Share: 1, TTL: time.Hour, AllowPending: true})
	require.NoError(t, err)
	carrier := propagation.MapCarrier{}
	p.Propagator.Inject(spangate.ContextWithOverride(t.Context(), p.Controller.Begin([16]byte{0: 0xff, 15: 0xff}, "")), carrier)
	require.NotEmpty(t, carrier["baggage"])
	require.Equal(t, spec, spangate.OverrideFromContext(p.Propagator.Extract(context.Background(), carrier)).Name().Spec)
}

// A token that is sent again and again samples no more than the budget of its override.
func TestReplayedOverrideIsSampledWithinItsBudget(t *testing.T) {
	front := newProcess(t, sdktrace.AlwaysSample(), control.Budget{})
	back := newProcess(t, otelsdk.SampleOverridden(sdktrace.ParentBased(sdktrace.NeverSample())), control.Budget{SpansPerTrace: 10})
	_, err := front.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "job", Match: "customer=42", TTL: time.Minute})
	require.NoError(t, err)
	carrier := propagation.MapCarrier{}
	front.Propagator.Inject(front.Controller.Offer(t.Context(), func(string) string { return "42" }), carrier)
	require.NotEmpty(t, carrier)
	replay := func(n int) (sampled int) {
		for range n {
			_, span := back.TracerProvider.Tracer("job").Start(back.Propagator.Extract(context.Background(), carrier), "job")
			if span.SpanContext().IsSampled() {
				sampled++
			}
			span.End()
		}
		return sampled
	}
	require.Equal(t, 10, replay(100), "job is on for all, so the override turns nothing on")
	require.Equal(t, []control.Count{{Reason: "spans per trace", N: 90}}, back.Controller.State().Overrides.Cut)
	require.Zero(t, back.Controller.State().Overrides.Started)
}

// A token that is sent with many requests in one second samples no more of them than the budget of spans a
// second, and the state shows how many.
func TestReplayedTokenStaysInTheBudgetOfSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t, otelsdk.SampleOverridden(sdktrace.ParentBased(sdktrace.NeverSample())), control.Budget{SpansPerSecond: 10})
		require.NoError(t, p.Controller.SetBaseline(control.Baseline{Spec: "job", Who: "ann"}))
		sampled := 0
		replay := func(id string) {
			for range 100 {
				o := p.Controller.Admit(spangate.OverrideName{ID: id, Spec: "job", End: time.Now().Add(time.Hour)})
				_, span := p.TracerProvider.Tracer("job").Start(spangate.ContextWithOverride(t.Context(), o), "job")
				if span.SpanContext().IsSampled() {
					sampled++
				}
				span.End()
			}
		}
		replay("stolen")
		require.Equal(t, 10, sampled)
		o := p.Controller.State().Overrides
		require.EqualValues(t, 10, o.Sampled)
		require.Zero(t, o.Started, "job is on for all")
		require.Equal(t, []control.Count{{Reason: "spans per second", N: 90}}, o.Cut)

		time.Sleep(time.Second)
		replay("stolen")
		require.Equal(t, 10, sampled, "once refused, it stays refused: a span beneath a dropped one would lack its parent")
		require.Equal(t, []control.Count{{Reason: "spans per second", N: 190}}, p.Controller.State().Overrides.Cut)
		replay("other")
		require.Equal(t, 20, sampled)
	})
}

// A budget that is used up for a while must not drop a span and sample one beneath it.
func TestBudgetLeavesNoSampledSpanWithoutItsParent(t *testing.T) {
	for _, base := range []sdktrace.Sampler{sdktrace.NeverSample(), sdktrace.ParentBased(sdktrace.NeverSample())} {
		for _, budget := range []control.Budget{{SpansPerSecond: 1}, {SpansPerTrace: 3}, {Traces: 2}} {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t, otelsdk.SampleOverridden(base), budget)
				_, err := p.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Match: "customer=42", TTL: time.Hour})
				require.NoError(t, err)
				for range 5 {
					p.work(p.Controller.Offer(t.Context(), func(string) string { return "42" }), func(ctx context.Context) {
						time.Sleep(1100 * time.Millisecond)
						p.work(ctx, func(ctx context.Context) { p.work(ctx, func(context.Context) {}) })
					})
				}
				exported := make(map[trace.SpanID]bool)
				for _, s := range p.exported.GetSpans() {
					exported[s.SpanContext.SpanID()] = true
				}
				require.NotEmpty(t, exported)
				for _, s := range p.exported.GetSpans() {
					assert.True(t, !s.Parent.IsValid() || exported[s.Parent.SpanID()], "%s, %+v: %s without its parent", base.Description(), budget, s.Name)
				}
			})
		}
	}
}

func TestRefusedSampleStaysRefused(t *testing.T) {
	p := newProcess(t, otelsdk.SampleOverridden(sdktrace.ParentBased(sdktrace.NeverSample())), control.Budget{})
	_, err := p.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Match: "customer=42", TTL: time.Minute})
	require.NoError(t, err)
	ctx := p.Controller.Offer(t.Context(), func(string) string { return "42" })
	require.NoError(t, p.Controller.SetLimits(control.Limits{Deny: "verify"}))
	ctx, root := p.TracerProvider.Tracer("job").Start(ctx, "root")
	require.NoError(t, p.Controller.SetLimits(control.Limits{}))
	_, child := p.TracerProvider.Tracer("job").Start(ctx, "child")
	child.End()
	root.End()
	require.Empty(t, p.exported.GetSpans(), "the child of a span that is not sampled")
}

func TestOverrideThatTheLimitsLeaveNothingIsNotSampled(t *testing.T) {
	p := newProcess(t, otelsdk.SampleOverridden(sdktrace.NeverSample()), control.Budget{})
	lease, err := p.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Match: "customer=42", TTL: time.Minute})
	require.NoError(t, err)
	o := spangate.OverrideFromContext(p.Controller.Offer(t.Context(), func(string) string { return "42" }))
	require.True(t, o.Sample())
	require.NoError(t, p.Controller.SetLimits(control.Limits{Deny: "verify"}))
	require.False(t, o.Sample())
	require.NoError(t, p.Controller.SetLimits(control.Limits{}))
	require.False(t, o.Sample(), "a span beneath one that was dropped")
	o = spangate.OverrideFromContext(p.Controller.Offer(t.Context(), func(string) string { return "42" }))
	require.True(t, o.Sample(), "of another trace")
	require.NoError(t, lease.Release())
	require.False(t, o.Sample())
	require.Empty(t, p.Controller.State().Overrides.Cut, "no budget was reached")
}
