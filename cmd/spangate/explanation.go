// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// explanation is what a spec means, as JSON. Fields are only ever added.
type explanation struct {
	// Spec is as given.
	Spec string `json:"spec"`
	// Namespace owns the catalog.
	Namespace string `json:"namespace"`
	// Canonical is the spec with the groups alone, in bit order.
	Canonical string `json:"canonical"`
	// Mask is in hexadecimal.
	Mask string `json:"mask"`
	// Groups has what is on, in bit order.
	Groups []group `json:"groups"`
	// Entries has the entries that are not empty, in the order of the spec.
	Entries []entry `json:"entries"`
	// Traces is what becomes of traces with just these groups on.
	Traces traces `json:"traces"`
}

// entry is one entry of a spec.
type entry struct {
	// Name is as written, without the '-' of an exclusion.
	Name string `json:"name"`
	// Offset is where Name begins in the spec, in bytes.
	Offset int `json:"offset"`
	// Exclude reports whether the entry begins with '-'.
	Exclude bool `json:"exclude"`
	// Kind is preset or group.
	Kind string `json:"kind"`
	// Mask is what the name stands for, in hexadecimal.
	Mask string `json:"mask"`
	// Changes has the groups that the entry adds to those of the entries before it, or that
	// it takes from those of the whole spec and no exclusion before it has taken.
	Changes []string `json:"changes"`
}

// explain returns what text means in c. The error is a [*spangate.ParseError].
func (c *catalog) explain(text string) (*explanation, error) {
	mask, err := c.Parse(text)
	if err != nil {
		return nil, err
	}
	e := &explanation{
		Spec: text, Namespace: c.Namespace(),
		Canonical: c.Format(mask), Mask: mask.String(), Groups: c.groupsOf(mask),
		Entries: []entry{}, Traces: c.traces(text, mask),
	}
	var asked spangate.Mask // by any plain entry: order does not matter
	for in := range spec.Entries(text) {
		if m, _ := c.Lookup(in.Name); !in.Exclude {
			asked |= m
		}
	}
	var added, taken spangate.Mask
	for in := range spec.Entries(text) {
		m, _ := c.Lookup(in.Name)
		row := entry{Name: in.Name, Offset: in.Offset, Exclude: in.Exclude, Kind: c.kind(in.Name), Mask: m.String()}
		if in.Exclude {
			row.Changes = c.names(m & asked &^ taken)
			taken |= m
		} else {
			row.Changes = c.names(m &^ added)
			added |= m
		}
		e.Entries = append(e.Entries, row)
	}
	return e, nil
}

// kind says what a name that c has is.
func (c *catalog) kind(name string) string {
	m, _ := c.Lookup(name)
	for g := range c.Groups() {
		if g.Bit == m { // no preset of the two catalogs is a single group
			return "group"
		}
	}
	return "preset"
}
