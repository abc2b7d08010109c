// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package spangate_test

import (
	"fmt"

	"github.com/spangate/spangate"
)

func Example() {
	const (
		BitQuery spangate.Mask = 1 << 0
		BitCache spangate.Mask = 1 << 1
	)
	catalog := spangate.MustCatalog("mydb",
		[]spangate.Group{
			{Name: "query", Bit: BitQuery, Doc: "one query"},
			{Name: "cache", Bit: BitCache, Doc: "one cache lookup"},
		}, nil)

	var gate spangate.Gate // everything off
	site := func() {
		if gate.On(BitQuery) {
			fmt.Println("a query span starts here")
		} else {
			fmt.Println("nothing happens here")
		}
	}

	site()
	mask, err := catalog.Parse("all,-cache")
	if err != nil {
		panic(err)
	}
	gate.Store(mask)
	site()

	// Output:
	// nothing happens here
	// a query span starts here
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
