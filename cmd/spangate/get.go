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
		{"generation", caret.Shown(state.Generation)},
		{"baseline", baseline(state.Baseline)},
	}
	if state.Startup.Spec != state.Spec {
		rows = append(rows, []string{"at start-up", baseline(state.Startup)})
	}
	if state.Deny != "" {
		rows = append(rows, []string{"denied", caret.Shown(state.Deny)})
	}
	if state.Ceiling != "" {
		rows = append(rows, []string{"ceiling", caret.Shown(state.Ceiling)})
	}
	if len(state.Pending) > 0 {
		rows = append(rows, []string{"pending", amber.Render(shownList(state.Pending)) + ", which nobody has registered"})
	}
	if !state.Writable {
		rows = append(rows, []string{"changes", "none: the process has given the endpoint no authoriser"})
	}
	s.table(nil, rows)

	owners := make(map[string]string)
	for _, l := range state.Leases {
		owners[l.ID] = l.Owner
	}
	rows = [][]string{}
	for _, g := range state.Groups {
		word := faint.Render("off")
		if g.On {
			word = green.Render("on")
		}
		var namespaces, docs []string
		for _, m := range g.Members {
			namespaces = append(namespaces, caret.Shown(m.Namespace))
			if doc := caret.Shown(m.Doc); doc != "" && !slices.Contains(docs, doc) {
				docs = append(docs, doc)
			}
		}
		rows = append(rows, []string{caret.Shown(g.Name), word, because(g, owners), list(namespaces, ""), strings.Join(docs, "; ")})
	}
	s.printf("\n")
	if len(rows) == 0 {
		s.printf("No library has registered a group.\n")
	} else {
		s.table([]string{"GROUP", "IS", "BECAUSE OF", "NAMESPACE", "SPANS"}, rows)
	}

	rows = [][]string{}
	for _, p := range state.Presets {
		rows = append(rows, []string{caret.Shown(p.Name), caret.Shown(p.State), list(shownAll(p.Groups), "nothing")})
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

// because says who asks for a group, and who withholds it.
func because(g wire.Group, owners map[string]string) string {
	var who []string
	if g.Baseline {
		who = append(who, "baseline")
	}
	const most = 3
	for i, id := range g.Leases {
		if i == most {
			who = append(who, plural(len(g.Leases)-most, "more lease"))
			break
		}
		who = append(who, "lease of "+caret.Shown(owners[id]))
	}
	why := strings.Join(who, ", ")
	if g.Withheld && why != "" {
		return why + "; withheld"
	}
	if g.Withheld {
		return "withheld"
	}
	return why
}

// baseline says what a baseline is, whose, and why.
func baseline(b wire.Baseline) string {
	text := orQuoted(caret.Shown(b.Spec))
	if b.Who != "" {
		text += " by " + caret.Shown(b.Who)
	}
	if b.Why != "" {
		text += ": " + caret.Shown(b.Why)
	}
	return text
}

func drawLeases(s *screen, leases []wire.Lease) {
	rows := [][]string{}
	for _, l := range leases {
		rows = append(rows, []string{caret.Shown(l.ID), caret.Shown(l.Owner), orQuoted(caret.Shown(l.Spec)), left(l), caret.Shown(l.Why)})
	}
	s.table([]string{"LEASE", "OWNER", "SPEC", "LEFT", "WHY"}, rows)
}

// left says how long a lease lives, in whole seconds.
func left(l wire.Lease) string {
	d, err := time.ParseDuration(l.Left)
	if err != nil {
		return strconv.Quote(l.Left)
	}
	return inSeconds(d)
}

// inSeconds is d as it counts down: nothing is left only when nothing is.
func inSeconds(d time.Duration) string {
	return (d + time.Second - 1).Truncate(time.Second).String()
}

func shownAll(texts []string) []string {
	shown := make([]string, 0, len(texts))
	for _, text := range texts {
		shown = append(shown, caret.Shown(text))
	}
	return shown
}

func shownList(texts []string) string { return strings.Join(shownAll(texts), ", ") }
