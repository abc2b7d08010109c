// SPDX-License-Identifier: Apache-2.0

package othercatalog

import (
	"slices"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"

	"example.com/app/mydb"
)

const (
	bitServe   spangate.Mask = 1 << 0
	bitExtends spangate.Mask = 1 << 20
)

var (
	spans    = spangate.MustCatalog("other", []spangate.Group{{Name: "serve", Bit: bitServe}}, nil)
	extended = mustExtend()
)

func mustExtend() *spangate.Catalog {
	c, _ := mydb.Spans.Extend("extended", []spangate.Group{{Name: "x", Bit: bitExtends}}, nil)
	return c
}

func gates() {
	_ = mydb.Gate.On(mydb.BitQuery)
	_ = mydb.Gate.On(bitServe)                           // want `bitServe is a bit of othercatalog.spans, and this gate or catalog is of mydb.Spans`
	mydb.Gate.Enable(spangate.BitSandbox)                // want `BitSandbox is a bit of spangate.Gym`
	_ = otelgate.Rule{Gate: &mydb.Gate, Group: bitServe} // want `bitServe is a bit of othercatalog.spans`
	_ = otelgate.Rule{Gate: &mydb.Gate, Group: mydb.BitQuery}
	_ = mydb.Gate.On(bitExtends)
	_ = spangate.Lens.Format(spangate.BitJob)
	_ = spans.Format(mydb.BitCache) // want `BitCache is a bit of mydb.Spans, and this gate or catalog is of othercatalog.spans`
	_ = mydb.BitQuery | mydb.BitCache
	_ = mydb.BitQuery | mydb.BitCache | bitServe // want `BitQuery is a bit of mydb.Spans and bitServe one of othercatalog.spans: a mask has the bits of one catalog`
	_ = spangate.BitJob | spangate.BitSandbox | spangate.PresetDefault
}

func nothing(gate *spangate.Gate, computed spangate.Mask) {
	_ = gate.On(0) // want `On\(0\) is always false`
	_ = gate.On(computed)
	gate.Store(0)
}

type member struct {
	name string
	gate spangate.Gate
}

func copies(members []member, pointers []*spangate.Gate, queue chan member, of chan *member) {
	members = append(members, member{}) // want `append copies each spangate.Gate of the slice`
	copy(members, members[1:])          // want `copy copies each spangate.Gate`
	_ = slices.Clone(members)           // want `slices.Clone copies each spangate.Gate`
	queue <- member{}                   // want `this copies a spangate.Gate`
	of <- &members[0]
	pointers = append(pointers, new(spangate.Gate))
	_ = slices.Clone(pointers)
}

func suppressed(gate *spangate.Gate) {
	//spangate:ignore othercatalog a comment above
	_ = gate.On(0)
	_ = gate.On(0) //spangate:ignore othercatalog a comment behind

	//spangate:ignore hoisted another rule
	_ = gate.On(0) // want `On\(0\) is always false`

	_ = gate.On(0) /* want `On\(0\) is always false` */ //spangate:ignore othercatalog
}

const bitDebug spangate.Mask = 0 // a bit with another build tag

func compiledOut() bool { return mydb.Gate.On(bitDebug) }
