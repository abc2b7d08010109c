// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

func (p *program) get() *cobra.Command {
	cmd := &cobra.Command{Use: "get", Short: "Show what is on, and why"}
	return p.remote(cmd, false, func(r *remote, _ string) (answer, error) {
		state, err := r.State(r.ctx)
		if err != nil {
			return answer{}, err
		}
		return answer{state.JSON, func() {
			r.drawSummary(state)
			drawLists(r.stdout, state)
		}}, nil
	})
}

func (p *program) set() *cobra.Command {
	var b wire.Baseline
	cmd := &cobra.Command{
		Use:   "set SPEC",
		Short: "Set the baseline, until the next one",
		Long: `Set makes SPEC the baseline: what is on besides leases, until another one is set or
the process ends. A lease ends by itself; see spangate lease.

A name that is not registered in the process is an error and changes nothing, unless
--allow-pending keeps it until it is.`,
		Example: `  spangate set default,sandbox --why "the slow verifier"
  spangate set "" --if-match kq3v7d2a-12`,
	}
	cmd.Flags().StringVar(&b.Who, "who", "", "who asks (default: you); a name that the authoriser gives replaces it")
	reasonFlags(cmd, &b.Why, &b.AllowPending)
	return p.remote(cmd, true, func(r *remote, arg string) (answer, error) {
		b.Spec, b.Who = arg, orUser(b.Who)
		if err := checkUTF8("the spec", b.Spec, "--who", b.Who, "--why", b.Why); err != nil {
			return answer{}, err
		}
		return r.changed(r.SetBaseline(r.ctx, b, r.condition))
	})
}

func (p *program) reset() *cobra.Command {
	cmd := &cobra.Command{Use: "reset", Short: "Go back to the start-up baseline; leases stay"}
	return p.remote(cmd, true, func(r *remote, _ string) (answer, error) { return r.changed(r.ResetBaseline(r.ctx, r.condition)) })
}

// changed returns the answer for a change of the baseline.
func (r *remote) changed(state *client.State, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{state.JSON, func() { r.drawSummary(state) }}, nil
}

// drawSummary shows a state without its lists, and what the change that led to it has changed.
func (r *remote) drawSummary(state *client.State) {
	changed := ""
	if len(state.Changes) > 0 && state.Changes[0].Generation == state.Generation {
		changed = cmp.Or(difference(state.Changes[0]), "nothing")
	}
	var withheld []string
	for _, g := range state.Groups {
		if g.Withheld && g.Baseline {
			withheld = append(withheld, g.Name)
		}
	}
	r.stdout.fields("process", r.URL(), "generation", short(state.Generation), "baseline", baseline(state.Baseline), "changed", changed,
		"start-up", onlyIf(state.Startup.Spec != state.Spec, baseline(state.Startup)),
		"pinned", onlyIf(state.Pinned, amber.Render("the program has pinned what is on; baseline, leases and limits have no effect")),
		"on", list(state.Enabled, "nothing"),
		"root off", onlyIf(len(state.Enabled) > 0, warning(state.Roots, "; spans beneath begin a trace each, or are not started")),
		"withheld", list(withheld, ""), "denied", short(state.Deny), "ceiling", short(state.Ceiling),
		"pending", warning(state.Pending, ", not registered yet"),
		"changes", onlyIf(!state.Writable, "none: the process has given the endpoint no authoriser"))
}

// drawLists shows the groups, presets and leases of a state.
func drawLists(s *screen, state *client.State) {
	owners := ownersOf(state.Leases)
	var rows [][]string
	for _, g := range state.Groups {
		word := faint.Render("off")
		if g.On {
			word = green.Render("on")
		}
		var namespaces []string
		for _, m := range g.Members {
			namespaces = append(namespaces, m.Namespace)
		}
		rows = append(rows, []string{label(g.Name), word, because(g, owners), list(namespaces, ""), docOf(g)})
	}
	if len(rows) == 0 {
		s.printf("\nNo library has registered a group.\n")
	}
	s.table([]string{"GROUP", "IS", "BECAUSE OF", "NAMESPACE", "SPANS"}, rows)

	rows = nil
	for _, p := range state.Presets {
		rows = append(rows, []string{label(p.Name), label(p.State), list(p.Groups, "nothing")})
	}
	s.table([]string{"PRESET", "IS", "GROUPS"}, rows)
	s.table(leaseHeaders, leaseRows(state.Leases))
}

// docOf returns what the spans of a group are, as each of its namespaces says.
func docOf(g wire.Group) string {
	var docs []string
	for _, m := range g.Members[:min(len(g.Members), maxListed)] {
		if doc := short(m.Doc); !slices.Contains(docs, doc) {
			docs = append(docs, doc)
		}
	}
	return joined("; ", docs...)
}

// because says what turns a group on, and what keeps it off.
func because(g wire.Group, owners map[string]string) string {
	on := []string{onlyIf(g.Baseline, "baseline"), leasesOf(g.Leases, owners)}
	return joined("; ", joined(", ", on...), onlyIf(len(g.Quiet) > 0, "quieted by "+leasesOf(g.Quiet, owners)),
		onlyIf(g.Withheld, "withheld"), onlyIf(g.Overridden, "set on the registry itself"))
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// leasesOf lists the owners of the leases with these ids: a few, and how many more there are.
func leasesOf(ids []string, owners map[string]string) string {
	const most = 3
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, "lease of "+owners[id])
	}
	if more := len(ids) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// ownersOf returns the owners of leases, by id, fit for a terminal.
func ownersOf(leases []wire.Lease) map[string]string {
	owners := make(map[string]string)
	for _, l := range leases {
		owners[l.ID] = label(l.Owner)
	}
	return owners
}

// baseline says what a baseline is, whose, and why.
func baseline(b wire.Baseline) string {
	return orQuoted(short(b.Spec)) + onlyIf(b.Who != "", " by "+short(b.Who)) + onlyIf(b.Why != "", ": "+short(b.Why))
}

// orQuoted returns text, or two quotes if it is empty.
func orQuoted(text string) string { return cmp.Or(text, `""`) }

// difference says what a change has turned on and off.
func difference(c wire.Change) string {
	return strings.Join(append(signed(green, "+", c.New, c.Old), signed(red, "-", c.Old, c.New)...), " ")
}

// signed returns the names that are not in without, which is sorted, with a sign before each: at
// most maxListed, and how many more there are.
func signed(style lipgloss.Style, sign string, names, without []string) (parts []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, found := slices.BinarySearch(without, name)
		return found
	})
	for _, name := range names[:min(len(names), maxListed)] {
		parts = append(parts, style.Render(sign+short(name)))
	}
	if more := len(names) - maxListed; more > 0 {
		parts = append(parts, style.Render(fmt.Sprintf("%s%d more", sign, more)))
	}
	return parts
}
