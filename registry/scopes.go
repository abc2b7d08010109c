// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// MaxScopes is how many groups [Scopes] makes, besides [OtherScopes].
const MaxScopes = 256

// OtherScopes is the group of the scopes for which [Scopes] makes no group of their own.
const OtherScopes = "other"

// Scopes returns a function that makes a group of each instrumentation scope that it is called
// with, and returns the gate and bit of that group. It is for [otelgate.Discover], which calls it
// for the scopes that no rule names:
//
//	otelgate.Discover(registry.Scopes(r))
//
// The group is registered with r before the function returns, in the namespace scopes, and in
// scopes_2 and so on once that has 64 groups. It is in the preset default, so a scope is on while
// the spec selects default. Its doc is the first scope that was in it.
//
// The name of the group depends on the scope alone, so that a spec means the same in every
// process that sees at most [MaxScopes] scopes. It is the last element of the scope, without a major version, as a valid name: in lower
// case, at most [spangate.MaxNameLen] bytes, with '_' for every character that no name may have:
//
//	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp   otelhttp
//	github.com/redis/go-redis/extra/redisotel/v9                    redisotel
//	gopkg.in/yaml.v3                                                yaml
//	mydb.query                                                      mydb.query
//	My Service                                                      my_service
//	(empty)                                                         tracer, the SDK's name for it
//	all, default                                                    all_, default_
//
// Scopes with the same name are one group and switch together. A group of another namespace that has
// the name switches together with it too, without the warning of [Registry.Register], and the presets
// of that namespace decide for both: a scope that is seen never changes what default selects there. If a
// preset has the name, a spec with the name selects the group and what is in the preset.
//
// As the names of scopes may be made at run time, at most [MaxScopes] groups are made. Any later scope,
// and one without a letter or digit in its last element, is in the group [OtherScopes].
//
// From the first call of Scopes on, a name in a spec that is not registered is only a record of level
// INFO, unless it is near a registered name: the scope that has it may yet be seen.
//
// All functions of one registry share its groups. They may be called from any goroutine. A function
// of a nil r returns a nil gate: the scope has no group.
//
// [otelgate.Discover]: https://pkg.go.dev/github.com/spangate/spangate/otelgate#Discover
func Scopes(r *Registry) func(scope string) (*spangate.Gate, spangate.Mask) {
	if r != nil {
		r.mu.Lock()
		r.reports.discovers = true
		r.mu.Unlock()
	}
	return func(scope string) (*spangate.Gate, spangate.Mask) {
		if r == nil {
			return nil, 0
		}
		return r.discover(cmp.Or(scope, spec.EmptyScope))
	}
}

// discovered holds the groups that [Scopes] has made. Registry.mu guards it.
type discovered struct {
	groups []scopeGroup     // group i has bit i%MaxGroups of gate i/MaxGroups
	gates  []*spangate.Gate // each is of one namespace
	made   int              // the number of groups besides OtherScopes
}

type scopeGroup struct{ name, doc string }

// discover returns the gate and bit of the group of scope. It registers the group if it is new, or if
// its namespace was unregistered.
func (r *Registry) discover(scope string) (*spangate.Gate, spangate.Mask) {
	old := r.begin()
	defer r.endDiscovery()
	d, v := &r.discovered, old.vocabulary
	n := len(d.groups)
	i := d.index(scopeName(scope), spec.Head(scope))
	gate, bit := d.gates[i/spangate.MaxGroups], spangate.Mask(1)<<(i%spangate.MaxGroups)
	at := slices.IndexFunc(v.members, func(m *member) bool { return m.gate == gate })
	if i < n && at >= 0 {
		return gate, bit
	}
	if !gateOwners.claim(gate, r) { // it was unregistered here and registered elsewhere
		return nil, 0
	}
	members := slices.Clone(v.members)
	if at < 0 {
		at, members = len(members), append(members, nil)
		members[at] = d.member(i/spangate.MaxGroups, v.freeNamespace("scopes"))
	} else {
		members[at] = d.member(i/spangate.MaxGroups, members[at].namespace())
	}
	why := fmt.Sprintf("%s: group %s has the scope %s", members[at].namespace(), d.groups[i].name, clip(spec.Head(scope)))
	r.publishAndNotify(old.next(newVocabulary(members), old.intent, namespaceChange(why)))
	return gate, bit
}

// freeNamespace returns name, or the first of name_2, name_3 and so on that is not registered.
func (v *vocabulary) freeNamespace(name string) string {
	free := name
	for n := 2; v.position(free) >= 0; n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	return free
}

// endDiscovery is end for a caller that others wait for, perhaps with a lock held that the logger
// needs. So another goroutine logs, where a panic of the logger must not end the process.
func (r *Registry) endDiscovery() {
	waiting := len(r.reports.queue) > 0 || r.reports.dropped > 0
	r.mu.Unlock()
	if waiting {
		go func() {
			defer func() { _ = recover() }()
			r.log()
		}()
	}
}

// index returns the index of the group of this name, which it adds with this doc if there is room, or
// else of [OtherScopes].
func (d *discovered) index(name, doc string) int {
	i := slices.IndexFunc(d.groups, func(g scopeGroup) bool { return g.name == name })
	switch {
	case i >= 0:
		return i
	case d.made == MaxScopes && name != OtherScopes:
		return d.index(OtherScopes, "")
	case name == OtherScopes:
		doc = "scopes without a group of their own"
	default:
		d.made++
	}
	if len(d.groups)%spangate.MaxGroups == 0 {
		d.gates = append(d.gates, new(spangate.Gate))
	}
	d.groups = append(d.groups, scopeGroup{name, strings.Clone(doc)}) // a scope may be part of a long string
	return len(d.groups) - 1
}

// member returns the groups of gate n as a member of this namespace.
func (d *discovered) member(n int, namespace string) *member {
	groups, everything := []spangate.Group(nil), spangate.Mask(0)
	for i, g := range d.groups[n*spangate.MaxGroups : min(len(d.groups), (n+1)*spangate.MaxGroups)] {
		groups = append(groups, spangate.Group{Name: g.name, Bit: 1 << i, Doc: g.doc})
		everything |= 1 << i
	}
	c := spangate.MustCatalog(namespace, groups, []spangate.Preset{{Name: "default", Mask: everything}})
	return &member{catalog: c, gate: d.gates[n], presets: []preset{{"default", c.Names(everything)}}, yields: true}
}

// scopeName returns the name of the group of a scope, as [Scopes] says.
func scopeName(scope string) string {
	scope = strings.TrimRight(scope, "/")
	name := path.Base(scope)
	if dir := path.Dir(scope); spec.IsMajorVersion(name) && dir != "." {
		name = path.Base(dir)
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 && spec.IsMajorVersion(name[i+1:]) {
		name = name[:i] // as in gopkg.in/yaml.v3
	}
	switch name = spec.MakeName(name); name {
	case "":
		return OtherScopes
	case "default", spangate.NameAll:
		return name + "_"
	}
	return name
}
