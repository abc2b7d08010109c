// SPDX-License-Identifier: Apache-2.0

// Package bench measures spangate and what a program would use instead. The benchmarks are in test
// files; a comment above each says what it measures and what it does not:
//
//	go test -run '^$' -bench Check ./bench    one of them
//	go tool benchstat old.txt new.txt         compares two runs
//
// Two commands use them:
//
//	go run ./bench/cmd/budgets    counts their instructions with valgrind; fails where a budget is broken
//	go run ./bench/cmd/report     times them and writes bench/results and the tables of README.md and docs
//
// Package rollouts measures real work: the four processes of examples/rollout.
package bench
