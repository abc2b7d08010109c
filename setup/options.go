// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
)

// Option is an option of [New]. A nil one has no effect.
type Option func(*options)

type options struct {
	registry *registry.Registry
	baseline control.Baseline
	catalogs []catalog
	rules    ruleGroups
	gated    []otelgate.Option
	ready    otelgate.Rules // those of ReadyRules; also in gated
	withheld bool
	disabled string // the Why of the environment's baseline if no variable enables spans, to its first ';'
	noToken  bool   // Token got a blank one
	control  []control.Option
	handler  []control.HandlerOption
	file     string
	watch    []control.WatchOption
	err      error // the first error of an option
}

// catalog has the arguments of [registry.Registry.Register].
type catalog struct {
	catalog *spangate.Catalog
	gate    *spangate.Gate
	opts    []registry.RegisterOption
}

// Registry makes r the registry, in place of [registry.Default]. A nil r has no effect.
func Registry(r *registry.Registry) Option {
	return func(o *options) { o.registry = cmp.Or(r, o.registry) }
}

// Environment reads the baseline from the environment, as [control.FromEnv] does. Of a prefix
// MYAPP_OTEL it reads two variables:
//
//	MYAPP_OTEL_ENABLED=1                     must be true, or every span is off
//	MYAPP_OTEL_SPAN_GROUPS=default,-sql      the spec; default if it is not set
//
// While no …_ENABLED is set, New logs a record of level WARN to [slog.Default] that says which to
// set, if the environment's baseline is the one in force.
//
// An error of FromEnv is one of [New]. A [control.StartupBaseline] in [Control] wins over the
// environment, and so does [File] while its file can be used.
func Environment(prefixes ...string) Option {
	return func(o *options) {
		var err error
		o.baseline, err = control.FromEnv(prefixes...)
		o.fail(err)
		unset, _ := control.FromLookup(nil, prefixes...)
		o.disabled, _, _ = strings.Cut(unset.Why, ";")
	}
}

// File makes the content of the file at path the baseline, now and whenever it changes, as
// [control.Controller.WatchFile] does. Until the file can be used, the baseline is that of
// [Environment] or default. An empty path is no file.
func File(path string, opts ...control.WatchOption) Option {
	return func(o *options) { o.file, o.watch = path, opts }
}

// Rules adds rules. Each of their groups becomes a group of the namespace "rules", which may have
// [spangate.MaxGroups]. The group is in preset default, unless a catalog of [Catalog], or one that
// the registry has when New is called, has a group of the same name: then the two switch together,
// and the presets of that catalog decide for both.
//
// The first rule that matches a span decides; rules are in the order of the options that add them. A
// scope that a rule names gets no group of its own: its spans that no rule matches are in no group, and
// always on. A last rule for the whole scope puts them in one:
//
//	github.com/XSAM/otelsql client = sql
//	github.com/XSAM/otelsql = sql_other
func Rules(rules otelgate.NamedRules) Option {
	return func(o *options) { o.gated = append(o.gated, o.resolve(rules)) }
}

// RulesText is [Rules] of a text that [otelgate.ParseRules] reads, as from a file or a variable:
//
//	github.com/XSAM/otelsql* client = sql
//
// An error of ParseRules is one of [New].
func RulesText(text string) Option {
	return func(o *options) {
		rules, err := otelgate.ParseRules(text)
		o.fail(err)
		Rules(rules)(o)
	}
}

// ReadyRules is [Rules] for libraries that the program may not have, such as
// [otelgate.LibraryRules]: rules that match no scope are not reported.
func ReadyRules(rules otelgate.NamedRules) Option {
	return func(o *options) {
		ready := o.resolve(rules)
		o.gated, o.ready = append(o.gated, ready), append(o.ready, ready...)
	}
}

// resolve returns rules with bits in place of the names of groups, and adds the groups that are new.
func (o *options) resolve(rules otelgate.NamedRules) otelgate.Rules {
	resolved, err := rules.Rules(o.rules.find)
	o.fail(err)
	o.rules.describe(rules)
	return resolved
}

// Catalog registers c with gate g, as [registry.Registry.Register] does. The gate of the first
// Catalog is the provider's own: it decides for views of the provider and for rules without a gate,
// whose groups must be in c.
func Catalog(c *spangate.Catalog, g *spangate.Gate, opts ...registry.RegisterOption) Option {
	return func(o *options) { o.catalogs = append(o.catalogs, catalog{c, g, opts}) }
}

// Token lets requests that carry the token change what is on, as [control.BearerToken] says.
// Without it, and without a [control.Authorize] in [Handler], the endpoint refuses changes. So it
// does if the token is blank, as of a variable that is not set; New then logs a record of level
// WARN to [slog.Default].
func Token(token string) Option {
	return func(o *options) {
		o.noToken = strings.TrimSpace(token) == ""
		o.handler = append(o.handler, control.Authorize(control.BearerToken(token)))
	}
}

// Provider adds options of the provider, such as rules that have a gate of their own, or an
// [otelgate.Discover] in place of [registry.Scopes].
func Provider(opts ...otelgate.Option) Option {
	return func(o *options) { o.gated = append(o.gated, opts...) }
}

// CountWithheld counts and shows the spans that are not started because their groups are off;
// [otelgate.CountWithheld] says what it costs.
func CountWithheld() Option {
	return func(o *options) { o.withheld, o.gated = true, append(o.gated, otelgate.CountWithheld()) }
}

// Control adds options of the controller, such as [control.Metrics] and [control.Logger]. They win
// over what New itself gives.
func Control(opts ...control.Option) Option {
	return func(o *options) { o.control = append(o.control, opts...) }
}

// Handler adds options of the endpoint.
func Handler(opts ...control.HandlerOption) Option {
	return func(o *options) { o.handler = append(o.handler, opts...) }
}

func (o *options) fail(err error) { o.err = cmp.Or(o.err, err) }

// ruleGroups are the groups of [Rules]. Group i has bit i of the gate.
type ruleGroups struct {
	gate   *spangate.Gate
	groups []spangate.Group
}

// find returns the gate and bit of the group of this name, which it adds if it is new. A group beyond
// [spangate.MaxGroups] gets the bit of another, and catalog then returns an error.
func (r *ruleGroups) find(name string) (*spangate.Gate, spangate.Mask) {
	i := slices.IndexFunc(r.groups, func(g spangate.Group) bool { return g.Name == name })
	if i < 0 {
		i = len(r.groups)
		r.groups = append(r.groups, spangate.Group{Name: name, Bit: 1 << (i % spangate.MaxGroups)})
	}
	return r.gate, r.groups[i].Bit
}

// describe adds the rules to the docs of their groups.
func (r *ruleGroups) describe(rules otelgate.NamedRules) {
	for _, rule := range rules {
		groups := rule.Groups
		rule.Groups = nil
		for i, g := range r.groups {
			if slices.Contains(groups, g.Name) {
				r.groups[i].Doc = spec.Head(strings.TrimPrefix(g.Doc+", "+rule.String(), ", "))
			}
		}
	}
}

// catalog returns the catalog of the groups. Preset default has those that are not in others, which is
// sorted.
func (r *ruleGroups) catalog(others []string) (*spangate.Catalog, error) {
	preset := spangate.Preset{Name: "default"}
	for _, g := range r.groups {
		if _, found := slices.BinarySearch(others, g.Name); !found {
			preset.Mask |= g.Bit
		}
	}
	return spangate.NewCatalog("rules", r.groups, []spangate.Preset{preset})
}
