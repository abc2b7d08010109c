// SPDX-License-Identifier: Apache-2.0

// Package rollouts measures real work: the four processes of examples/rollout, on loopback,
// with OpenTelemetry's SDK and exporter and otelhttp on both sides of every call.
//
// What is measured: user and system time of all four processes for a job of many rollouts
// less that for a job of few, so that their start, their end and the first connections
// cancel out; per rollout. Builds and specs are measured in turns, one after the other in
// every round, and compared within a round: what disturbs the machine for a while disturbs
// them alike. A job is a closed loop, one rollout after the other, of a fixed number.
//
// What is not: whoever receives the spans, which is this process, and throws them away.
// Latency. What spans cost on a network.
//
// Where the bias lies: the work itself is next to nothing, a model that looks up words and a
// tool that adds numbers, so everything that instrumentation costs is larger here, in
// proportion, than in a program that does something. One rollout at a time means that a
// process goes to sleep and wakes up with every call, which is most of the system time; it is
// in every row. Who has several at once pays less for both.
//
// Where spans are off and where they are compiled out, the same handlers, transports and
// baggage are there: the builds differ in what the gates' sites compile to, and in nothing
// else. That is too little for a clock to tell, so instructions are counted as well, by
// valgrind's cachegrind, in user space, of all four processes and with the same subtraction.
// The garbage collector is off then, since when it runs is a matter of time. The scheduler's
// looking around is a matter of time too, and so is how many spans are exported at once; both
// are in the spread, and instructions outside Go's runtime are given by themselves.
package rollouts
