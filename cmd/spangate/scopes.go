// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

func (p *program) scopes() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scopes",
		Short: "Show which libraries start spans, how many, and in which groups",
		Long: `Scopes shows each instrumentation scope that the process has seen: which of its spans are in
which groups, by which rule, how many were started since the program began, and how many a second
over the last minute. It also shows the rules that have matched no scope, with the nearest scope
seen. Spans that were not started because their group was off are shown if the program counts them.`,
	}
	return p.reading(cmd, func(r *remote, state *client.State, _ string) (answer, error) {
		a := answer{value: struct {
			Scopes    []wire.Scope         `json:"scopes"`
			Unmatched []wire.UnmatchedRule `json:"unmatched"`
		}{append([]wire.Scope{}, state.Scopes...), append([]wire.UnmatchedRule{}, state.Unmatched...)}}
		if len(state.Scopes)+len(state.Unmatched) == 0 {
			a.line = "The process shows no scopes. If it has started spans, its program has to give control.Scopes to the controller, as setup.New does."
			return a, nil
		}
		perSecond := 0.0
		for _, s := range state.Scopes {
			perSecond += s.Spans.PerSecond
		}
		a.line = fmt.Sprintf("%d scopes, %s spans a second; %d rules match no scope", len(state.Scopes), rate(perSecond), len(state.Unmatched))
		a.rest = func() { drawScopes(r.stdout, state) }
		return a, nil
	})
}

// drawScopes shows a row for each site of each scope, and the rules that match none.
func drawScopes(s *screen, state *client.State) {
	rows := [][]string{{"SCOPE", "SPANS", "GROUPS", "ARE", "STARTED", "A SECOND", "NOT STARTED", "RULE"}}
	withheld := false
	for _, scope := range state.Scopes {
		for _, site := range scope.Sites {
			started, perSecond, kept := counts(&site.Spans)
			withheld = withheld || kept != ""
			rows = append(rows, []string{
				short(scope.Name), cmp.Or(joined(" ", label(site.SpanName), label(site.Kind)), "all"), list(site.Groups, "none"), shown[site.On],
				started, perSecond, kept, cmp.Or(short(site.Rule), "none"),
			})
		}
	}
	if !withheld {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 6, 7)
		}
	}
	s.table(rows[0], rows[1:])
	s.table([]string{"RULE THAT MATCHES NO SCOPE", "NEAREST SCOPE"}, mapped(state.Unmatched, func(u wire.UnmatchedRule) []string {
		return []string{short(u.Rule), cmp.Or(short(u.Nearest), "none is near")}
	}))
}
