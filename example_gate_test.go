// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package spangate_test

import (
	"context"
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

// An operator turns a group on for one trace.
func ExampleGate_OnContext() {
	var gate spangate.Gate
	gate.SetReach(spangate.BitSandbox) // package control does this
	override := spangate.NewOverride(spangate.OverrideName{Spec: "sandbox", ID: "d1"},
		func(_ *spangate.Gate, m spangate.Mask) bool { return m.HasAny(spangate.BitSandbox) })

	ctx := context.Background()
	fmt.Println(gate.OnContext(ctx, spangate.BitSandbox))
	ctx = spangate.ContextWithOverride(ctx, override)
	fmt.Println(gate.OnContext(ctx, spangate.BitSandbox), gate.OnContext(ctx, spangate.BitAgent))

	// Output:
	// false
	// true false
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
