// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package registry_test

import (
	"fmt"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
)

// What the author of a library mydb writes:

const (
	bitQuery spangate.Mask = 1 << 0
	bitTx    spangate.Mask = 1 << 1
)

var (
	mydbSpans = spangate.MustCatalog("mydb", []spangate.Group{
		{Name: "query", Bit: bitQuery, Doc: "one query, with its text"},
		{Name: "tx", Bit: bitTx, Doc: "one transaction"},
	}, []spangate.Preset{{Name: "default", Mask: bitTx}})

	mydbGate spangate.Gate
)

func RegisterSpans(r *registry.Registry) error { return r.Register(mydbSpans, &mydbGate) }

func Example_libraryAuthor() {
	// RegisterSpans, above, is the library's whole part, besides its sites:
	query := func() {
		fmt.Println("query span:", mydbGate.On(bitQuery)) // if so, start one
	}

	r := registry.New()
	if err := RegisterSpans(r); err != nil {
		fmt.Println(err)
	}
	defer r.Unregister("mydb") // a gate belongs to one registry, and the next example has another
	query()
	r.SetSpec("default,query")
	query()
	// Output:
	// query span: false
	// query span: true
}

func Example_operator() {
	// One spec for every process of the job, whatever it has loaded.
	r := registry.New() // or registry.Default()
	fmt.Println("pending:", r.SetSpec("default,query,-http_client,layer"))

	var gym spangate.Gate
	for _, err := range []error{
		r.Register(spangate.Gym, &gym),
		RegisterSpans(r),
	} {
		if err != nil {
			fmt.Println(err)
		}
	}
	defer r.Unregister("mydb")
	fmt.Println("on:", r.Enabled())
	fmt.Println("pending:", r.Pending()) // layer is Megatron's, which is not in this process
	fmt.Println("gym:", spangate.Gym.Format(gym.Load()))
	fmt.Println("mydb:", mydbSpans.Format(mydbGate.Load()))

	_ = r.Pin() // everything off, whatever registers from here on
	fmt.Println("on:", r.Enabled())
	// Output:
	// pending: [default http_client layer query]
	// on: [job query rollout server tx]
	// pending: [layer]
	// gym: job,server,rollout
	// mydb: query,tx
	// on: []
}

// A preset of one library may hold groups of another, which need not be registered.
func ExamplePreset() {
	r := registry.New()
	r.SetSpec("slow_requests")
	var gym spangate.Gate
	err := r.Register(spangate.Gym, &gym, registry.Preset("slow_requests", "server", "query"))
	fmt.Println(r.Enabled(), err)

	err = RegisterSpans(r)
	defer r.Unregister("mydb")
	fmt.Println(r.Enabled(), err)
	// Output:
	// [server] <nil>
	// [query server] <nil>
}

// Libraries without a catalog are groups by the names of their scopes.
func ExampleScopes() {
	r := registry.New()
	r.SetSpec("default,-otelsql")
	sdk := noop.NewTracerProvider() // sdktrace.NewTracerProvider(…) in a program
	provider, err := otelgate.NewTracerProvider(sdk, new(spangate.Gate), otelgate.Discover(registry.Scopes(r)))
	if err != nil {
		fmt.Println(err)
		return
	}
	provider.Tracer("github.com/XSAM/otelsql")
	provider.Tracer("github.com/redis/go-redis/extra/redisotel/v9")
	fmt.Println("groups:", r.Groups())
	fmt.Println("on:", r.Enabled())
	// Output:
	// groups: [otelsql redisotel]
	// on: [redisotel]
}
