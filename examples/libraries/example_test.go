// SPDX-License-Identifier: Apache-2.0

package libraries_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/examples/libraries/cache"
	"github.com/spangate/spangate/examples/libraries/mydb"
	mydbv2 "github.com/spangate/spangate/examples/libraries/mydb/v2"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

// recorder returns an SDK, and a function that returns the names of the spans that have ended since
// its last call, in the order in which they ended.
func recorder() (*sdktrace.TracerProvider, func() string) {
	ended := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)), func() string {
		var names []string
		for _, span := range ended.Ended() {
			names = append(names, span.Name())
		}
		ended.Reset()
		return strings.Join(names, ", ")
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A program that does not know of groups has all spans. One that registers them chooses.
func Example_onUntilRegistered() {
	sdk, spans := recorder()
	db := mydb.Open(mydb.Options{TracerProvider: sdk})
	db.Query(context.Background(), "SELECT 1")
	fmt.Printf("not registered: %q\n", spans())

	r := registry.New()
	r.SetSpec("default")
	check(mydb.RegisterSpans(r))
	defer r.Unregister("mydb")
	db.Query(context.Background(), "SELECT 1")
	fmt.Printf("default: %q\n", spans())

	r.SetSpec("default,mydb.query")
	db.Query(context.Background(), "SELECT 1")
	fmt.Printf("default,mydb.query: %q\n", spans())

	// Output:
	// not registered: "query"
	// default: ""
	// default,mydb.query: "query"
}

// In a program that makes a group of each scope, a span needs its own group and that of its scope.
func Example_inAProgramWithDiscovery() {
	sdk, spans := recorder()
	parts, err := setup.New(sdk, setup.Registry(registry.New()))
	check(err)
	defer parts.Close()
	check(mydb.RegisterSpans(parts.Registry))
	defer parts.Registry.Unregister("mydb")
	db := mydb.Open(mydb.Options{TracerProvider: parts.TracerProvider})

	for _, spec := range []string{"default", "default,mydb.query", "default,mydb.query,-mydb"} {
		check(parts.Controller.SetBaseline(control.Baseline{Spec: spec}))
		db.Query(context.Background(), "SELECT 1")
		fmt.Printf("%s: %q\n", spec, spans())
	}

	// Output:
	// default: ""
	// default,mydb.query: "query"
	// default,mydb.query,-mydb: ""
}

// A library without a dependency is gated by the names of its scopes.
func Example_noDependency() {
	sdk, spans := recorder()
	parts, err := setup.New(sdk, setup.Registry(registry.New()))
	check(err)
	defer parts.Close()
	c := cache.New(parts.TracerProvider)
	fmt.Println(parts.Registry.Groups())

	for _, spec := range []string{"default", "default,-cache.network"} {
		check(parts.Controller.SetBaseline(control.Baseline{Spec: spec}))
		c.Get(context.Background(), "key")
		fmt.Printf("%s: %s\n", spec, spans())
	}

	// Output:
	// [cache cache.network]
	// default: fetch, get
	// default,-cache.network: get
}

// Close leaves the namespaces that others registered, so the second setup.New needs mydb unregistered.
func Example_secondSetup() {
	r := registry.New()
	for range 2 {
		sdk, _ := recorder()
		parts, err := setup.New(sdk, setup.Registry(r))
		check(err)
		check(mydb.RegisterSpans(parts.Registry))
		check(r.Unregister("mydb"))
		check(parts.Close())
	}
	fmt.Println(r.Namespaces())

	// Output:
	// []
}

// A name of an earlier version goes on to work, as a preset.
func Example_renamed() {
	r := registry.New()
	check(mydb.RegisterSpans(r))
	defer r.Unregister("mydb")
	fmt.Println("pending:", r.SetSpec("mydb.sql,mydb.pool"))
	fmt.Println("on:", r.Enabled())

	// Output:
	// pending: []
	// on: [mydb.query]
}

// Two major versions are two namespaces with the same names, which go on and off together.
func Example_twoMajorVersions() {
	r := registry.New()
	check(mydb.RegisterSpans(r))
	defer r.Unregister("mydb")
	check(mydbv2.RegisterSpans(r))
	defer r.Unregister("mydb.v2")
	r.SetSpec("mydb.query")
	fmt.Println(r.Namespaces(), r.Enabled())
	fmt.Println(r.Groups())

	// Output:
	// [mydb mydb.v2] [mydb.query]
	// [mydb.query mydb.tx]
}

// Instances that a program wants to switch apart have a gate each.
func Example_instances() {
	sdk, spans := recorder()
	r := registry.New()
	open := func(instance string) *mydb.DB {
		catalog, err := mydb.SpansOf(instance)
		check(err)
		gate := new(spangate.Gate)
		check(r.Register(catalog, gate))
		return mydb.Open(mydb.Options{TracerProvider: sdk, Gate: gate})
	}
	orders, users := open("orders"), open("users")

	for _, spec := range []string{"mydb.orders.query", "mydb.query"} {
		r.SetSpec(spec)
		orders.Query(context.Background(), "SELECT 1")
		users.Query(context.Background(), "SELECT 2")
		fmt.Printf("%s: %s\n", spec, spans())
	}

	// Output:
	// mydb.orders.query: query
	// mydb.query: query, query
}

// Tests that run at the same time have a gate and a provider each.
func TestParallelTestsHaveAGateEach(t *testing.T) {
	for _, test := range []struct {
		name string
		on   spangate.Mask
		want string
	}{
		{"query on", mydb.BitQuery, "query"},
		{"query off", mydb.BitTx, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sdk, spans := recorder()
			db := mydb.Open(mydb.Options{TracerProvider: sdk, Gate: spangate.NewGate(test.on)})
			db.Query(t.Context(), "SELECT 1")
			require.Equal(t, test.want, spans())
		})
	}
}
