// SPDX-License-Identifier: Apache-2.0

package result

// sections has every benchmark in the order in which it is shown, and the row that the
// others are compared with. What is measured and what is not is said at the top of each
// benchmark's file.
var sections = []struct{ benchmark, title, baseline string }{
	{"Check", "A site that is off", "load and AND by hand"},
	{"StartNoParent", "Start, off, no parent", "trace/noop"},
	{"StartUnderSpan", "Start, off, under a span", "trace/noop"},
	{"StartUnderRemoteParent", "Start, off, under a remote parent", "trace/noop"},
	{"StartWithTwoAttributes", "Start, off, no parent, with two attributes", "trace/noop"},
	{"SpanOn", "Start and End of a span that is on", "SDK, no parent"},
	{"Value", "A value looked up beneath ten spans", "SDK"},
	{"Tracer", "Tracer of a scope seen before", "SDK"},
	{"Do", "Do around a function that does nothing", "the function by itself"},
	{"Parse", "Parse of default,sandbox", "split and map in Go"},
	{"Python", "The same in nemo-lens-shaped Python, written for this comparison", "an empty loop"},
	{"GrowthArmed", "On, by other groups of the gate that are on", "0 others on"},
	{"GrowthRegistered", "On, by groups in the registry", "1 registered"},
	{"GrowthLeased", "On, by live leases", "leases: 0"},
	{"GrowthGoroutines", "On, by goroutines that read the gate", "read by 1"},
	{"GrowthToggling", "On, by how often the set is swapped", "never swapped"},
	{"GrowthNeighbour", "On, by what is next to the word in memory", "nobody writes nearby"},
	{"GrowthSpec", "Parse, by entries of the spec", "entries: 1"},
	{"GrowthSetSpec", "Registry.SetSpec, by groups in the registry", "1 registered"},
	{"Alternative", "Tried and turned down: reading", "one word: the gate"},
	{"AlternativeStore", "Tried and turned down: changing the set", "one word: the gate"},
}

// budgets are those that are about time. The rest is for cmd/budgets, which holds a span that is
// on to the SDK's instructions.
var budgets = []struct {
	what, row, of string
	most          float64
}{
	{"off Start, no parent", "StartNoParent/spangate, off", "StartNoParent/trace/noop", 1. / 6},
	{"off Start, gated parent", "StartUnderSpan/spangate, off, gated parent", "StartUnderSpan/trace/noop", 1. / 6},
	{"off Start, a value beneath a gated parent", "StartUnderSpan/spangate, off, a value beneath a gated parent", "StartUnderSpan/trace/noop", 1. / 2},
	{"off Start, SDK parent", "StartUnderSpan/spangate, off, raw SDK parent", "StartUnderSpan/trace/noop", 1. / 2},
	{"a value beneath ten spans", "Value/through the gate", "Value/SDK", 2.5},
	{"Tracer of a scope seen before", "Tracer/through the gate", "Tracer/SDK", 1},
	{"Parse, of nemo-lens-shaped Python", "Parse/spangate.Parse", "Python/resolve", 1. / 10},
	{"On, set swapped at 1 kHz", "GrowthToggling/swapped at 1 kHz", "GrowthToggling/never swapped", 1.05},
}
