// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spangate/spangate/bench/internal/disasm"
)

const sitePackage = "github.com/spangate/spangate/bench/internal/site"

// sites has what each site may compile to. On arm64 ADRP and ADD form the address of a
// package-level word. Behind a pointer the gate's padding costs an ADD there, as LDAR takes no
// offset, and for a word so far into its struct Go tests the pointer with a MOVB.
var sites = []struct {
	what, function, byHand string
	budget                 map[string]string
}{
	{"constant bit, package-level gate", "Gate", "ByHand", map[string]string{
		"amd64": "MOVQ BTL JAE", "arm64": "ADRP ADD LDAR TBZ"}},
	{"constant bit, gate that is registered, leased and watched", "GateRegistered", "ByHand", map[string]string{
		"amd64": "MOVQ BTL JAE", "arm64": "ADRP ADD LDAR TBZ"}},
	{"constant bit, gate behind a pointer", "GatePointer", "ByHandPadded", map[string]string{
		"amd64": "MOVQ BTL JAE", "arm64": "MOVB ADD LDAR TBZ"}},
	{"variable mask, package-level gate", "GateVariable", "ByHandVariable", map[string]string{
		"amd64": "MOVQ TESTQ JE", "arm64": "ADRP ADD LDAR TST BEQ"}},
}

// Sites holds each site to its budget, on amd64 and arm64, compiled in and compiled out,
// whatever processor this is.
func Sites() ([]Verdict, error) {
	var verdicts []Verdict
	for _, goarch := range []string{"amd64", "arm64"} {
		in, err := disasm.Functions(sitePackage, goarch)
		if err != nil {
			return nil, err
		}
		out, err := disasm.Functions(sitePackage, goarch, "spangate_off")
		if err != nil {
			return nil, err
		}
		for _, s := range sites {
			found, byHand := guard(in, s.function), guard(in, s.byHand)
			verdicts = append(verdicts, Verdict{
				What:   goarch + " site: " + s.what,
				Budget: s.budget[goarch] + ", as by hand",
				Found:  count(found),
				OK:     found == s.budget[goarch] && found == byHand,
				Remedy: "by hand it is " + count(byHand),
			}, Verdict{
				What:   goarch + " site: " + s.what + ", -tags spangate_off",
				Budget: "no instruction",
				Found:  count(strings.Join(excess(out[s.function], out["Absent"]), " ")),
				OK:     slices.Equal(out[s.function], out["Absent"]),
			})
		}
	}
	return verdicts, nil
}

// guard returns what guards the middle statement of the function: what the function has and
// Unguarded has not.
func guard(functions map[string][]string, name string) string {
	return strings.Join(excess(functions[name], functions["Unguarded"]), " ")
}

// excess returns the instructions in the middle of long that short lacks. It compares from
// the end first: a guard may begin as the statement behind it does.
func excess(long, short []string) []string {
	long = withoutLastNop(long)
	tail := 0
	for tail < min(len(long), len(short)) && long[len(long)-1-tail] == short[len(short)-1-tail] {
		tail++
	}
	head := len(short) - tail
	if head > len(long)-tail || !slices.Equal(long[:head], short[:head]) {
		return append([]string{"not", "as", "expected:"}, long...)
	}
	return long[head : len(long)-tail]
}

// withoutLastNop drops the no-operation that the compiler puts ahead of the return of some
// functions that are given a pointer, by hand or not. It is not the guard's.
func withoutLastNop(function []string) []string {
	if n := len(function); n > 1 && function[n-2] == "NOPL" {
		return append(slices.Clone(function[:n-2]), function[n-1])
	}
	return function
}

// count shows instructions and how many they are.
func count(instructions string) string {
	n := len(strings.Fields(instructions))
	if n == 0 {
		return "no instruction"
	}
	return fmt.Sprintf("%d: %s", n, instructions)
}
