// SPDX-License-Identifier: Apache-2.0

// Package registry applies one spec, which an operator sets, to all instrumented libraries of a
// process.
//
// Each library owns a [spangate.Catalog] and a [spangate.Gate]. Its bits are constants of
// its own and its sites read its own word, so no library has to know of another, no bits
// are assigned at run time, and a process can hold any number of groups. A [Registry] resolves
// a spec over the names of all libraries, and sets each gate's groups.
//
// A library registers its catalog and gate:
//
//	func RegisterSpans(r *registry.Registry) error {
//		return r.Register(catalog, &gate)
//	}
//
// and the program sets the spec, before or after that:
//
//	r := registry.Default()
//	err := mydb.RegisterSpans(r)
//	…
//	pending := r.SetSpec(os.Getenv("SPAN_GROUPS"))
//
// # Names
//
// All namespaces share one space of names. A group that two namespaces have is one name: a spec
// turns both bits on together. A preset that several namespaces have is the union of theirs, and
// all is every registered group. A name that is a group of one namespace and a preset of another
// means both. A name in a spec that is not registered is pending: it is kept, and takes
// effect as soon as its owner registers, since one spec is often shared by processes that load
// different libraries.
//
// The spec language is that of [spangate.Parse]: the union of the plain entries minus the
// union of those with '-', in any order. Names given to the registry are trimmed and folded
// in the same way. With Gym's and a database library's catalogs registered:
//
//	default                 job, server, http_client, rollout, and what mydb's default holds
//	default,query           those, and mydb's query
//	all,-query              everything that is registered but mydb's query
//	default,layer           default; layer is pending until its owner, Megatron, registers
//	all,-layer              everything; layer is pending, and stays off when Megatron registers
//
// # Pins and controllers
//
// [Registry.Pin] turns exactly the given groups on until the next SetSpec or Pin, whatever
// registers or a controller changes.
//
// A controller of package control decides what is on in a registry, by a baseline, by leases that
// expire, and by limits. A registry has one controller at a time.
// [Registry.State] returns one generation of the registry, so that the results of several reads
// belong together.
//
// # Gates
//
// A gate belongs to one registry of the process, and to one namespace in it.
//
// # Diagnostics
//
// A condition that no single library can prevent is not an error but a record of level WARN: a
// spec with a name that is not registered, a preset over such a group, a name that another
// namespace has too. With [Scopes], a name that is not registered is of level INFO at first, and of
// level WARN once a name near it is registered. The record holds the spec, the missing names, what is registered and
// which names are near. It is not repeated while it stays the same.
package registry
