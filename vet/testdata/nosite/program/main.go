// SPDX-License-Identifier: Apache-2.0

package main // want `no site of this program is gated on group "retry" of catalog mydb, and preset default has it; add the site or remove the group`

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"

	"example.com/app/mydb"
)

const (
	bitServe spangate.Mask = 1 << iota
	bitIdle
	bitView
)

var spans = spangate.MustCatalog("program", []spangate.Group{ // want `group "idle" of catalog program; add the site`
	{Name: "serve", Bit: bitServe},
	{Name: "idle", Bit: bitIdle},
	{Name: "view", Bit: bitView},
}, nil)

// mydb has the sites of query; the cache is gated on here, through a wrapper, and nothing retries.
func cached() bool { return mydb.On(mydb.BitCache) }

func provider(base trace.TracerProvider, gate *spangate.Gate) (*otelgate.TracerProvider, error) {
	p, err := otelgate.NewTracerProvider(base, gate, otelgate.Rule{Scope: "net/http", Group: bitServe})
	if err != nil {
		return nil, err
	}
	return p.Group(bitView), nil
}

func main() {
	if cached() {
		provider(nil, new(spangate.Gate))
	}
}
