// SPDX-License-Identifier: Apache-2.0

package otelsdk

import (
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// SampleOverridden returns a sampler that decides as base, and samples the spans that base drops
// in a trace with a [spangate.Override], as long as the override is in effect and within its limits.
// An override turns spans on, but in a trace that base drops they are not recorded without this
// sampler. A span belongs to such a trace if the context in which it is started has the override, also
// with a parent that is remote and not sampled.
//
//	sdktrace.NewTracerProvider(sdktrace.WithSampler(
//		otelsdk.SampleOverridden(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)))))
//
// Make it the outermost sampler: one that is the root of a ParentBased sampler sees no remote
// parents. With ParentBased beneath it, the first span of the trace in each process is sampled by
// it, and the spans beneath because their parent is, also when the override has ended. A span
// that was dropped before the override was in the context stays missing. With another
// base, each span for itself is sampled until the override ends.
//
// While the override is in effect and within its limits, the sampled spans of its trace have no
// threshold, th, in the member "ot" of their tracestate, whether base samples them or not: the
// threshold says how many traces a span stands for, and one that was chosen stands for itself. All else
// that base returns stays.
//
// For each span that base drops, or samples with a threshold, the sampler asks [spangate.Override.Sample],
// which counts against the limits of the override. Beneath a span that was sampled without a threshold,
// ParentBased gives none. Any other span costs a look into its context.
//
// A nil base is ParentBased(AlwaysSample), the default of the SDK. The sampler is safe for concurrent use if
// base is.
func SampleOverridden(base sdktrace.Sampler) sdktrace.Sampler {
	if base == nil {
		base = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	return sampleOverridden{base}
}

type sampleOverridden struct{ base sdktrace.Sampler }

var _ sdktrace.Sampler = sampleOverridden{}

func (s sampleOverridden) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.base.ShouldSample(p)
	o := spangate.OverrideFromContext(p.ParentContext)
	if o == nil || result.Decision == sdktrace.RecordAndSample && !hasThreshold(result.Tracestate) || !o.Sample() {
		return result
	}
	result.Decision = sdktrace.RecordAndSample
	result.Tracestate = withoutThreshold(result.Tracestate)
	return result
}

// Description returns "SampleOverridden{base:…}" with the description of base.
func (s sampleOverridden) Description() string {
	return "SampleOverridden{base:" + s.base.Description() + "}"
}

// hasThreshold reports whether withoutThreshold may change state.
func hasThreshold(state trace.TraceState) bool { return strings.Contains(state.Get("ot"), "th:") }

// withoutThreshold returns state without th in the member ot, and without an empty ot.
func withoutThreshold(state trace.TraceState) trace.TraceState {
	if !hasThreshold(state) {
		return state
	}
	ot := state.Get("ot")
	var kept []string
	for field := range strings.SplitSeq(ot, ";") {
		if !strings.HasPrefix(field, "th:") {
			kept = append(kept, field)
		}
	}
	if kept == nil {
		return state.Delete("ot")
	}
	// A part of a valid value is valid, unless it is empty or ends in a space.
	changed, err := state.Insert("ot", strings.Join(kept, ";"))
	if err != nil {
		return state.Delete("ot")
	}
	return changed
}
