// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

func (p *program) get() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:               "get",
		Short:             "Show what is on, and because of whom",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := t.client()
			if err != nil {
				return err
			}
			state, err := client.Get(cmd.Context(), "")
			if err != nil {
				return err
			}
			if t.asJSON {
				p.out.json(state.JSON)
				return nil
			}
			drawState(p.out, client, state)
			return nil
		},
	}
	t.flags(cmd, "the state")
	return cmd
}

func drawState(s *screen, client *endpoint.Client, state *endpoint.State) {
	rows := [][]string{
		{"process", client.URL.String()},
		{"generation", caret.Short(state.Generation)},
		{"baseline", baseline(state.Baseline)},
	}
	if state.Startup.Spec != state.Spec {
		rows = append(rows, []string{"at start-up", baseline(state.Startup)})
	}
	if state.Pinned {
		rows = append(rows, pinned)
	}
	if below := rootless(state); below != "" {
		rows = append(rows, []string{"root off", below})
	}
	if state.Deny != "" {
		rows = append(rows, []string{"denied", caret.Short(state.Deny)})
	}
	if state.Ceiling != "" {
		rows = append(rows, []string{"ceiling", caret.Short(state.Ceiling)})
	}
	if len(state.Pending) > 0 {
		rows = append(rows, []string{"pending", amber.Render(shownList(state.Pending, "")) + ", not registered yet"})
	}
	if !state.Writable {
		rows = append(rows, []string{"changes", "none: the process has given the endpoint no authoriser"})
	}
	s.table(nil, rows)

	owners := ownersOf(state.Leases)
	rows = [][]string{}
	for _, g := range state.Groups {
		word := faint.Render("off")
		if g.On {
			word = green.Render("on")
		}
		var namespaces, docs []string
		for _, m := range g.Members[:min(len(g.Members), maxListed)] {
			namespaces = append(namespaces, caret.Short(m.Namespace))
			if doc := caret.Short(m.Doc); doc != "" && !slices.Contains(docs, doc) {
				docs = append(docs, doc)
			}
		}
		rows = append(rows, []string{caret.Short(g.Name), word, because(g, owners), list(namespaces, ""), strings.Join(docs, "; ")})
	}
	s.printf("\n")
	if len(rows) == 0 {
		s.printf("No library has registered a group.\n")
	} else {
		s.table([]string{"GROUP", "IS", "BECAUSE OF", "NAMESPACE", "SPANS"}, rows)
	}

	rows = [][]string{}
	for _, p := range state.Presets {
		rows = append(rows, []string{caret.Short(p.Name), caret.Short(p.State), shownList(p.Groups, "nothing")})
	}
	if len(rows) > 0 {
		s.printf("\n")
		s.table([]string{"PRESET", "IS", "GROUPS"}, rows)
	}
	if len(state.Leases) > 0 {
		s.printf("\n")
		drawLeases(s, state.Leases)
	}
}

// pinned is the row for a state that the program has pinned.
var pinned = []string{"pinned", amber.Render("the program has pinned what is on; baseline, leases and limits have no effect")}

// rootless says which groups that begin traces are off while others are on, or returns "".
func rootless(state *endpoint.State) string {
	if len(state.Roots) == 0 || len(state.Enabled) == 0 {
		return ""
	}
	return amber.Render(shownList(state.Roots, "")) + "; spans beneath begin a trace each, or are not started"
}

// because says what has a group on, and what keeps it off.
func because(g wire.Group, owners map[string]string) string {
	var on []string
	if g.Baseline {
		on = append(on, "baseline")
	}
	on = append(on, leasesOf(g.Leases, owners)...)
	parts := []string{}
	if len(on) > 0 {
		parts = append(parts, strings.Join(on, ", "))
	}
	if len(g.Quiet) > 0 {
		parts = append(parts, "quieted by "+strings.Join(leasesOf(g.Quiet, owners), ", "))
	}
	if g.Withheld {
		parts = append(parts, "withheld")
	}
	return strings.Join(parts, "; ")
}

// leasesOf names the leases with these ids by their owners: a few, and how many more there are.
func leasesOf(ids []string, owners map[string]string) []string {
	const most = 3
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, "lease of "+owners[id])
	}
	if more := len(ids) - most; more > 0 {
		names = append(names, plural(more, "more lease"))
	}
	return names
}

// ownersOf returns the owners of leases, by id, as text for the terminal. An owner that is longer
// than any real process allows is cut, since it is shown beside every group of its lease.
func ownersOf(leases []wire.Lease) map[string]string {
	const most = 128
	owners := make(map[string]string)
	for _, l := range leases {
		owner := l.Owner
		if len(owner) > most {
			owner = strings.ToValidUTF8(owner[:most], "") + "…"
		}
		owners[l.ID] = caret.Shown(owner)
	}
	return owners
}

// baseline says what a baseline is, whose, and why.
func baseline(b wire.Baseline) string {
	text := orQuoted(caret.Short(b.Spec))
	if b.Who != "" {
		text += " by " + caret.Short(b.Who)
	}
	if b.Why != "" {
		text += ": " + caret.Short(b.Why)
	}
	return text
}

func drawLeases(s *screen, leases []wire.Lease) {
	rows := [][]string{}
	for _, l := range leases {
		rows = append(rows, []string{caret.Short(l.ID), caret.Short(l.Owner), subject(&l), left(l), caret.Short(l.Why)})
	}
	s.table([]string{"LEASE", "OWNER", "SPEC", "LEFT", "WHY"}, rows)
}

// left says how long a lease lives, in whole seconds.
func left(l wire.Lease) string {
	d, err := time.ParseDuration(l.Left)
	if err != nil {
		return strconv.Quote(shorten(l.Left))
	}
	return inSeconds(d)
}

// inSeconds is d as it counts down: nothing is left only when nothing is.
func inSeconds(d time.Duration) string {
	return (d + time.Second - 1).Truncate(time.Second).String()
}

// shownList is [list] for texts from the process, made safe for the terminal.
func shownList(texts []string, nothing string) string {
	shown := slices.Clone(texts)
	for i := range shown[:min(len(shown), maxListed)] {
		shown[i] = caret.Short(shown[i])
	}
	return list(shown, nothing)
}
