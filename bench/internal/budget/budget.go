// SPDX-License-Identifier: Apache-2.0

// Package budget holds spangate's budgets as far as a machine can decide them without a
// clock: by what a site compiles to, by instructions executed and by allocations.
package budget

// Verdict is the outcome for one budget.
type Verdict struct {
	What   string // what is held to the budget
	Budget string
	Found  string
	OK     bool
	Remedy string // what to do, if it is not OK and Found does not say
}
