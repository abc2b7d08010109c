// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"

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
seen. Spans that were not started because their group was off are shown if the program counts them.

Spans in no group are always on. A scope that a rule names gets no group of its own, so its spans
that no rule matches are in none. A rule for the rest of the scope puts them in one, as in:
github.com/XSAM/otelsql = sql

For several processes it shows the totals of each; --json has all scopes.`,
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
	var rows [][]string
	for _, scope := range state.Scopes {
		for _, site := range scope.Sites {
			started, perSecond, withheld := counts(&site.Spans)
			are := shown[site.On]
			if len(site.Groups) == 0 {
				are = green.Render("always on")
			}
			rows = append(rows, []string{
				short(scope.Name), cmp.Or(joined(" ", label(site.SpanName), label(site.Kind)), "all"), list(site.Groups, "none"), are,
				started, perSecond, withheld, cmp.Or(short(site.Rule), "none"),
			})
		}
	}
	s.table([]string{"SCOPE", "SPANS", "GROUPS", "ARE", "STARTED", rateHeader, "NOT STARTED", "RULE"}, rows)
	s.table([]string{"RULE THAT MATCHES NO SCOPE", "NEAREST SCOPE"}, mapped(state.Unmatched, func(u wire.UnmatchedRule) []string {
		return []string{short(u.Rule), cmp.Or(short(u.Nearest), "none is near")}
	}))
}
