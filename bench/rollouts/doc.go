// SPDX-License-Identifier: Apache-2.0

// Package rollouts measures real work: the rollouts of examples/rollout on its four processes, on
// loopback, with OpenTelemetry's SDK and exporter and otelhttp on both sides of every call.
//
//	go test -run '^$' -bench . ./bench/rollouts                  CPU time, spans and bytes
//	go test -run '^$' -bench . ./bench/rollouts -instructions    instructions, with valgrind's cachegrind
//
// Measured, for one rollout: user and system time of all four processes for a job of many rollouts
// less that for a job of few, so that their start, their end and the first connections cancel out.
// A job runs one rollout after the other.
//
// Not measured: the receiver of the spans, which is the benchmark and drops them; latency; the
// cost of spans on a network.
//
// Bias: there is almost no work, a model that looks up words and a tool that adds numbers, so
// instrumentation is a larger share of the cost here than in a real program. With one rollout
// at a time a process sleeps and wakes up with every call, in every row: that is most of the
// system time.
//
// Instructions are those of user space, with the same subtraction. The garbage collector is off,
// since it runs at times that vary. The scheduler's work and the number of spans in an export vary
// too: on a busy machine the counts of one row differ by a few per cent, and those outside Go's
// runtime, which are given too, by a few hundredths of a per cent.
package rollouts
