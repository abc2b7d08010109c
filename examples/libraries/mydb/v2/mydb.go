// SPDX-License-Identifier: Apache-2.0

// Package mydb stands for the next major version of a library, in a program that has both.
package mydb

import (
	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

const (
	BitQuery spangate.Mask = 1 << 0
	BitTx    spangate.Mask = 1 << 1
)

// Spans has the names of the first major version, in a namespace of its own.
var Spans = spangate.MustCatalog("mydb.v2", []spangate.Group{
	{Name: "mydb.query", Bit: BitQuery, Doc: "one query, with its text"},
	{Name: "mydb.tx", Bit: BitTx, Doc: "one transaction"},
}, []spangate.Preset{{Name: "default", Mask: BitTx}})

var gate = spangate.NewGate(Spans.All())

// RegisterSpans lets r turn the groups of Spans on and off, together with those of the first major
// version if it is there.
func RegisterSpans(r *registry.Registry) error {
	return r.Register(Spans, gate, registry.Shared())
}
