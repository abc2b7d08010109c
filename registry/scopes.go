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
// the spec selects default. Its doc is the scope.
//
// The name of the group depends on the scope alone, so that a spec means the same in every
// process. It is the last element of the scope, without a major version, as a valid name: in lower
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
// Scopes with the same name are one group and switch together; its doc lists the first four of them.
// A group of another namespace that has the name switches together with it too, without the warning
// of [Registry.Register]. As the names of scopes may be made at run time, at most [MaxScopes] groups
// are made. Any later scope, and one without a letter or digit in its last element, is in the group
// [OtherScopes].
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
		return r.discover(cmp.Or(scope, emptyScope))
	}
}

// emptyScope is the name that the SDK gives to a scope whose name is empty.
const emptyScope = "go.opentelemetry.io/otel/sdk/tracer"

// discovered holds the groups that [Scopes] has made. Registry.mu guards it.
type discovered struct {
	groups []scopeGroup     // group i has bit i%MaxGroups of gate i/MaxGroups
	gates  []*spangate.Gate // each is of one namespace
	made   int              // the number of groups besides OtherScopes
}

// scopeGroup is a group and the scopes that are in it: the first maxDocScopes, then "…" if there
// are more.
type scopeGroup struct {
	name   string
	scopes []string
}

const maxDocScopes = 4

// discover returns the gate and bit of the group of scope. It registers the group if it is new, if its
// doc has changed, or if its namespace was unregistered.
func (r *Registry) discover(scope string) (*spangate.Gate, spangate.Mask) {
	old := r.begin()
	defer r.end()
	d, v := &r.discovered, old.vocabulary
	i := d.index(scopeName(scope))
	gate, bit := d.gates[i/spangate.MaxGroups], spangate.Mask(1)<<(i%spangate.MaxGroups)
	scope = spec.Head(scope)
	at := slices.IndexFunc(v.members, func(m *member) bool { return m.gate == gate })
	if !d.groups[i].add(scope) && at >= 0 {
		return gate, bit
	}
	if !gates.claim(gate, r) { // it was unregistered here and registered elsewhere
		return nil, 0
	}
	members := slices.Clone(v.members)
	if at < 0 {
		at, members = len(members), append(members, nil)
		members[at] = d.member(i/spangate.MaxGroups, v.freeNamespace("scopes"))
	} else {
		members[at] = d.member(i/spangate.MaxGroups, members[at].namespace())
	}
	why := fmt.Sprintf("%s: group %s has the scope %s", members[at].namespace(), d.groups[i].name, clip(scope))
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

// index returns the index of the group of this name, which it adds if there is room, or else of
// [OtherScopes].
func (d *discovered) index(name string) int {
	i := slices.IndexFunc(d.groups, func(g scopeGroup) bool { return g.name == name })
	switch {
	case i >= 0:
		return i
	case d.made == MaxScopes && name != OtherScopes:
		return d.index(OtherScopes)
	case name != OtherScopes:
		d.made++
	}
	if len(d.groups)%spangate.MaxGroups == 0 {
		d.gates = append(d.gates, new(spangate.Gate))
	}
	d.groups = append(d.groups, scopeGroup{name: name})
	return len(d.groups) - 1
}

// add adds scope, and reports whether that changed g.
func (g *scopeGroup) add(scope string) bool {
	switch {
	case slices.Contains(g.scopes, scope) || len(g.scopes) > maxDocScopes:
		return false
	case len(g.scopes) == maxDocScopes:
		scope = "…"
	}
	g.scopes = append(g.scopes, strings.Clone(scope)) // a scope may be part of a long string
	return true
}

// member returns the groups of gate n as a member of this namespace.
func (d *discovered) member(n int, namespace string) *member {
	groups, everything := []spangate.Group(nil), spangate.Mask(0)
	for i, g := range d.groups[n*spangate.MaxGroups : min(len(d.groups), (n+1)*spangate.MaxGroups)] {
		groups = append(groups, spangate.Group{Name: g.name, Bit: 1 << i, Doc: strings.Join(g.scopes, ", ")})
		everything |= 1 << i
	}
	c := spangate.MustCatalog(namespace, groups, []spangate.Preset{{Name: "default", Mask: everything}})
	return &member{catalog: c, gate: d.gates[n], presets: []preset{{"default", c.Names(everything)}}}
}

// scopeName returns the name of the group of a scope, as [Scopes] says.
func scopeName(scope string) string {
	scope = strings.TrimRight(scope, "/")
	name := path.Base(scope)
	if dir := path.Dir(scope); majorVersion(name) && dir != "." {
		name = path.Base(dir)
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 && majorVersion(name[i+1:]) {
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

// majorVersion reports whether s is v and a number.
func majorVersion(s string) bool {
	digits, ok := strings.CutPrefix(s, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
