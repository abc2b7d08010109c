// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package spangate_test

import (
	"fmt"

	"github.com/spangate/spangate"
)

func Example() {
	var gate spangate.Gate // everything off

	site := func() {
		if gate.On(spangate.BitRollout) {
			fmt.Println("a rollout span starts here")
		} else {
			fmt.Println("nothing happens here")
		}
	}

	site()
	gate.Store(spangate.MustParse("default,sandbox"))
	site()

	// Output:
	// nothing happens here
	// a rollout span starts here
}

func ExampleGate() {
	gate := spangate.NewGate(spangate.PresetDefault)

	fmt.Println(gate.On(spangate.BitSandbox))
	before := gate.Enable(spangate.BitSandbox)
	fmt.Println(gate.On(spangate.BitSandbox))
	gate.Store(before)
	fmt.Println(gate.On(spangate.BitSandbox))

	// Output:
	// false
	// true
	// false
}
