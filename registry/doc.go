// SPDX-License-Identifier: Apache-2.0

// Package registry is where the instrumented libraries of one process meet the one spec
// that an operator sets for all of them.
//
// Each library owns a [spangate.Catalog] and a [spangate.Gate]. Its bits are constants of
// its own and its sites read its own word, so no library has to know of another, no bits
// are handed out at run time, and a process can hold any number of groups. A [Registry]
// knows them all by name: it resolves a spec over every name there is and gives each gate
// its part of the answer.
//
// A library offers its catalog and gate:
//
//	func RegisterSpans(r *registry.Registry) error {
//		return r.Register(catalog, &gate)
//	}
//
// and the program sets the spec, before or after; order never matters:
//
//	r := registry.Default()
//	err := mydb.RegisterSpans(r)
//	…
//	pending := r.SetSpec(os.Getenv("SPAN_GROUPS"))
//
// # Names
//
// All names are one flat space. A group that two namespaces have is one name: a spec turns
// both bits on together. A preset that several namespaces have is the union of what each
// says, all is every group that is registered, and where one namespace's group is
// another's preset, the name means both. A name in a spec that nobody has is pending: it is
// kept, and means something as soon as its owner registers, since one spec is often shared
// by processes that load different libraries.
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
// # For who decides
//
// What is wanted may come from several parties that come and go: package control has leases
// besides a baseline. [Registry.Update] takes all of them as one [Plan], so that no word is
// published in between; [Registry.State] is one generation to ask several questions of; and
// [Registry.Observe] tells of every change.
//
// # Diagnostics
//
// What no single library can prevent is no error but a record of level WARN: a spec that
// names what nobody has or turns nothing on, a preset over a group that nobody has, a name
// that another namespace has too. It says what was asked for, what is missing, what is
// registered and which names are near. It is not repeated while it stays the same.
package registry
