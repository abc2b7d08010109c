// SPDX-License-Identifier: Apache-2.0

package unknownname

import (
	"flag"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"

	"example.com/app/mydb"
)

const misspelt = "retryy"

var (
	_ = spangate.MustParse("default,sandbx") // want `no catalog in reach has a group or preset "sandbx"; did you mean "sandbox"\?`
	_ = spangate.MustParse(" Default , -SANDBOX ")

	extended = must(mydb.Spans.Extend("more", []spangate.Group{{Name: "batch", Bit: 1 << 3}}, nil))

	spec     = flag.String("spans", "default,cashe", "the spans that are on") // want `"cashe"; did you mean "cache"\?`
	variable string
)

func must(c *spangate.Catalog, err error) *spangate.Catalog {
	if err != nil {
		panic(err)
	}
	return c
}

func init() {
	flag.StringVar(&variable, "more", "querry", "more spans") // want `"querry"; did you mean "query"\?`
}

func parse(r *registry.Registry) {
	mydb.Spans.Parse("query,-cache,all")
	mydb.Spans.Parse("sandbox")      // want `the catalog has no group or preset "sandbox"; it has default, all, query, cache, retry`
	mydb.Spans.Parse(misspelt)       // want `"retryy"; did you mean "retry"\?`
	mydb.Spans.Lookup("querys")      // want `"querys"; did you mean "query"\?`
	mydb.Spans.Lookup("query,cache") // want `the catalog has no group or preset "query,cache"`
	mydb.Spans.Group("default")      // want `the catalog has no group or preset "default"`
	mydb.Spans.Preset("default")
	mydb.Spans.Parse(*spec)
	mydb.Spans.Parse(variable)

	r.SetSpec("default,quary") // want `"quary"; did you mean "query"\?`
	r.SetSpec("default,of_another_process")
	_ = control.Baseline{Spec: "rollut"} // want `"rollut"; did you mean "rollout"\?`

	own, err := spangate.NewCatalog("own", []spangate.Group{{Name: "step", Bit: 1}}, nil)
	if err != nil {
		return
	}
	own.Parse("steps") // want `did you mean "step"\?`
	own.Parse("step")
}

func unknownCatalog(c *spangate.Catalog, groups []spangate.Group) {
	c.Parse("anything")
	spangate.MustCatalog("computed", groups, nil).Parse("anything")
	extended.Parse("anything") // its value is that of a function
	mydb.Spans.Resolve("lenient")
}

func replacedDefault() {
	s := flag.String("groups", "auto", "")
	if *s == "auto" {
		*s = "default"
	}
	mydb.Spans.Parse(*s)
}
