// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

func (p *program) set() *cobra.Command {
	var t target
	var when condition
	var b wire.Baseline
	cmd := &cobra.Command{
		Use:   "set SPEC",
		Short: "Set the baseline, until the next one",
		Long: `Set makes SPEC the baseline: what is on besides leases, until another one is set or
the process ends. A lease goes back by itself; see spangate lease.

A name that is not registered in the process is an error and changes nothing, unless
--allow-pending keeps it until it is.`,
		Example: `  spangate set default,sandbox --why "the slow verifier"
  spangate set "" --if-match kq3v7d2a-12`,
		Args: oneSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Spec = args[0]
			b.Who = cmp.Or(b.Who, me())
			if err := cmp.Or(when.check(), checkText("the spec", b.Spec), checkText("--who", b.Who), checkText("--why", b.Why)); err != nil {
				return err
			}
			client, err := t.client()
			if err != nil {
				return err
			}
			state, err := client.SetBaseline(cmd.Context(), b, when.generation)
			if err != nil {
				return online(err, b.Spec)
			}
			p.changed(state, t.asJSON)
			return nil
		},
	}
	t.flags(cmd, "the state")
	when.flag(cmd)
	cmd.Flags().BoolVar(&b.AllowPending, "allow-pending", false, "keep names that are not registered until they are")
	cmd.Flags().StringVar(&b.Who, "who", "", "who asks (default: you); a name that the authoriser gives replaces it")
	cmd.Flags().StringVar(&b.Why, "why", "", "the reason, which get and the process's log show")
	cmd.ValidArgsFunction = completeSpec(t.completions)
	return cmd
}

func (p *program) reset() *cobra.Command {
	var t target
	var when condition
	cmd := &cobra.Command{
		Use:               "reset",
		Short:             "Go back to the baseline of the start-up; leases live on",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := when.check(); err != nil {
				return err
			}
			client, err := t.client()
			if err != nil {
				return err
			}
			state, err := client.Reset(cmd.Context(), when.generation)
			if err != nil {
				return err
			}
			p.changed(state, t.asJSON)
			return nil
		},
	}
	t.flags(cmd, "the state")
	when.flag(cmd)
	return cmd
}

// changed says what a change of the baseline has led to.
func (p *program) changed(state *endpoint.State, asJSON bool) {
	if asJSON {
		p.out.json(state.JSON)
		return
	}
	rows := [][]string{{"baseline", baseline(state.Baseline)}}
	if len(state.Changes) > 0 && state.Changes[0].Generation == state.Generation {
		rows = append(rows, []string{"changed", cmp.Or(difference(state.Changes[0]), "nothing")})
	}
	if state.Pinned {
		rows = append(rows, pinned)
	}
	rows = append(rows, []string{"on", shownList(state.Enabled, "nothing")})
	if below := rootless(state); below != "" {
		rows = append(rows, []string{"root off", below})
	}
	if held := heldBack(state); held != "" {
		rows = append(rows, []string{"withheld", held})
	}
	if len(state.Pending) > 0 {
		rows = append(rows, []string{"pending", shownList(state.Pending, "")})
	}
	rows = append(rows, []string{"generation", caret.Short(state.Generation)})
	p.out.table(nil, rows)
}

// heldBack names the groups that the baseline asks for and the limits keep off.
func heldBack(state *endpoint.State) string {
	var names []string
	for _, g := range state.Groups {
		if g.Withheld && g.Baseline {
			names = append(names, g.Name)
		}
	}
	return shownList(names, "")
}

// difference is what a change has turned on and off.
func difference(c wire.Change) string {
	return strings.Join(append(signed(green, "+", minus(c.New, c.Old)), signed(red, "-", minus(c.Old, c.New))...), " ")
}

// signed returns names with sign before each: at most maxListed, and how many more there are.
func signed(style lipgloss.Style, sign string, names []string) []string {
	var parts []string
	for _, name := range names[:min(len(names), maxListed)] {
		parts = append(parts, style.Render(sign+caret.Short(name)))
	}
	if more := len(names) - maxListed; more > 0 {
		parts = append(parts, style.Render(fmt.Sprintf("%s%d more", sign, more)))
	}
	return parts
}

// minus returns what is in a and not in b.
func minus(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, name := range b {
		in[name] = true
	}
	var rest []string
	for _, name := range a {
		if !in[name] {
			rest = append(rest, name)
		}
	}
	return rest
}
