// SPDX-License-Identifier: Apache-2.0

// Package bench measures spangate beside what it would be used instead of. Everything here is a
// Go benchmark in a test file, so that go test -bench runs any part of it; two commands make
// something of them, and a third measures real work:
//
//	go run ./bench/cmd/report    times everything, in rounds; prints it, and writes JSON, SVG and the tables of the docs
//	go run ./bench/cmd/budgets   counts instructions and allocations; fails where a budget is broken
//	go run ./bench/cmd/rollouts  measures the rollouts of examples/rollout: CPU time, instructions, spans and bytes by what is on
//
// Time decides nothing here that instructions can decide: it is for comparison.
package bench
