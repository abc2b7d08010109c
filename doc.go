// SPDX-License-Identifier: Apache-2.0

// Package spangate turns OpenTelemetry spans on and off by named group, live, at one load
// and one AND for a site that is off.
//
// A [Group] is a named set of spans that exist or don't exist together, such as rollout; it
// is one bit of a [Mask]. A [Catalog] names the bits; [Gym] and [Lens] are the vocabularies
// of NVIDIA's NeMo Gym and nemo-lens, and a program defines its own with [NewCatalog]. A
// spec such as
//
//	default,sandbox,-verify
//
// selects groups by name; [Parse] turns it into a mask. A [Gate] is one mask that the
// program reads at every site and swaps while it runs:
//
//	var gate spangate.Gate // everything off
//
//	func rollout(ctx context.Context, task Task) error {
//		if gate.On(spangate.BitRollout) {
//			var span trace.Span
//			ctx, span = tracer.Start(ctx, "rollout", trace.WithAttributes(task.Attributes()...))
//			defer span.End()
//		}
//		…
//	}
//
//	mask, err := spangate.Parse(os.Getenv("SPAN_GROUPS"))
//	…
//	gate.Store(mask) // takes effect at the next site, without a restart
//
// That a span is off never breaks a trace: a site that does not start a span hands its
// context on, and what is beneath it joins the nearest span above that is on. Package
// otelgate gives the same to libraries that know nothing of gates, by wrapping their
// [go.opentelemetry.io/otel/trace.TracerProvider].
//
// Built with -tags spangate_off, guarded sites compile to nothing; see [Compiled].
package spangate
