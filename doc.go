// SPDX-License-Identifier: Apache-2.0

// Package spangate turns OpenTelemetry spans on and off by named group, while the program
// runs. A site that is off costs one load and one AND.
//
// A [Group] is a named set of spans that are switched together; it is one bit of a [Mask]. A
// [Catalog] names the bits and has presets, which are named masks. A [Gate] is one mask that
// every site reads:
//
//	const (
//		BitQuery spangate.Mask = 1 << 0
//		BitCache spangate.Mask = 1 << 1
//		BitRetry spangate.Mask = 1 << 2
//	)
//
//	var Spans = spangate.MustCatalog("mydb",
//		[]spangate.Group{
//			{Name: "query", Bit: BitQuery, Doc: "one query"},
//			{Name: "cache", Bit: BitCache, Doc: "one cache lookup"},
//			{Name: "retry", Bit: BitRetry, Doc: "one more attempt"},
//		},
//		[]spangate.Preset{{Name: "default", Mask: BitQuery | BitRetry, Doc: "what every query does"}})
//
//	var gate spangate.Gate // everything off
//
//	func query(ctx context.Context, q Query) error {
//		if gate.On(BitQuery) {
//			var span trace.Span
//			ctx, span = tracer.Start(ctx, "query", trace.WithAttributes(q.Attributes()...))
//			defer span.End()
//		}
//		…
//	}
//
//	mask, err := Spans.Parse(os.Getenv("MYDB_SPANS"))
//	…
//	gate.Store(mask) // every site follows from now on
//
// # Specs
//
// A spec is text that selects groups:
//
//	spec  = [ entry { "," entry } ]
//	entry = space [ "-" ] name space        an empty entry is skipped
//	name  = a preset's or a group's name, in any case
//
// Its mask is the union of the plain entries, minus the union of the entries with '-'. In the
// catalog above:
//
//	""                    nothing
//	default               query, retry
//	default,cache         query, cache, retry
//	all,-cache            query, retry
//	-cache,all            the same: the order of entries does not matter
//	 Default , CACHE      default,cache: space and case do not matter
//	default,,             default: empty entries are skipped
//	querys                an error: did you mean "query"?
//	- cache               an error: the name begins right after the '-'
//
// The preset [NameAll] is part of every catalog. [Catalog.Parse] refuses a name that the
// catalog lacks; [Catalog.Resolve] returns it. Space and case are those of Python's str.strip
// and str.lower, since Go and Python processes of one job often share a spec: U+212A (KELVIN
// SIGN) folds to k, U+017F (LONG S) does not fold to s. A spec has at most [MaxSpecLen] bytes.
//
// # Traces
//
// A span that is off does not break a trace: a guarded site that starts no span leaves the
// context as it is, so a span beneath it joins the nearest span above that is on. Package otelgate
// does the same for libraries without gates, by wrapping their
// [go.opentelemetry.io/otel/trace.TracerProvider].
//
// Built with -tags spangate_off, guarded sites compile to nothing; see [Compiled].
//
// # Ready-made catalogs
//
// [Gym] and [Lens] are the vocabularies of NVIDIA's NeMo Gym and nemo-lens. The constants
// Bit…, Preset… and [CrossProcessSpine] are Gym's, LensPreset… are Lens's, and [Parse] reads a
// spec with Gym. Other programs can ignore them.
package spangate
