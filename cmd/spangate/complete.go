// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/internal/spec"
)

// arguments sets what arguments cmd takes, and how they complete: a spec if its Use has SPEC, the
// id of a lease if it has ID, and none otherwise.
func arguments(cmd *cobra.Command, names func(*cobra.Command) []cobra.Completion, ids cobra.CompletionFunc) {
	switch {
	case strings.Contains(cmd.Use, "SPEC"):
		cmd.Args, cmd.ValidArgsFunction = oneSpec, completeSpec(names)
	case strings.Contains(cmd.Use, "ID"):
		cmd.Args, cmd.ValidArgsFunction = oneID, ids
	default:
		cmd.Args, cmd.ValidArgsFunction = noArgs, cobra.NoFileCompletions
	}
}

// completeFlag completes a flag by these values, and never by files.
func completeFlag(cmd *cobra.Command, flag string, values ...cobra.Completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions( // fails for a flag that there is not
		values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
}

// names returns the names of a catalog, presets first, with their docs.
func names(c *spangate.Catalog) (names []cobra.Completion) {
	for p := range c.Presets() {
		names = append(names, completion(p.Name, p.Doc))
	}
	for g := range c.Groups() {
		names = append(names, completion(g.Name, g.Doc))
	}
	return names
}

func completion(name, doc string) cobra.Completion {
	return cobra.CompletionWithDesc(short(name), short(doc))
}

// names returns the names that the process has registered, or those of Gym if it does not answer
// at once, since a shell is waiting.
func (r *remote) names(cmd *cobra.Command) (found []cobra.Completion) {
	state := r.stateNow(cmd)
	if state == nil {
		return names(spangate.Gym)
	}
	for _, p := range state.Presets {
		found = append(found, completion(p.Name, p.Doc))
	}
	for _, g := range state.Groups {
		var docs []string
		for _, m := range g.Members {
			docs = append(docs, m.Doc)
		}
		found = append(found, completion(g.Name, strings.Join(docs, "; ")))
	}
	return found
}

// stateNow returns the state of the process, or nil.
func (r *remote) stateNow(cmd *cobra.Command) *client.State {
	r.timeout = min(r.timeout, time.Second)
	c, err := r.client()
	if err != nil {
		return nil
	}
	state, _ := c.State(cmd.Context())
	return state
}

// completeSpec completes the last entry of a spec by the names that the entries before it
// don't have.
func completeSpec(names func(*cobra.Command) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		last := strings.LastIndexByte(toComplete, ',') + 1
		if strings.HasPrefix(toComplete[last:], "-") {
			last++
		}
		before, begun := toComplete[:last], toComplete[last:]
		used := make(map[string]bool)
		for e := range spec.Entries(before) {
			used[e.Name] = true
		}
		for _, c := range names(cmd) {
			if name, _, _ := strings.Cut(c, "\t"); !used[name] && strings.HasPrefix(name, begun) {
				found = append(found, before+c)
			}
		}
		// Without a space behind it, since a comma may follow.
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeID completes the id of a lease.
func (r *remote) completeID(cmd *cobra.Command, args []string, _ string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	if state := r.stateNow(cmd); state != nil && len(args) == 0 {
		for _, l := range state.Leases {
			ids = append(ids, completion(l.ID, fmt.Sprintf("%s of %s, %s left", subject(&l), l.Owner, left(&l))))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeAfterCommas mends the script for bash that cobra writes. It compares what has been
// typed with completions quoted by printf %q, which puts a backslash before commas, so that
// nothing behind a comma would complete.
func completeAfterCommas(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		panic(err) // cobra always adds it
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := root.GenBashCompletionV2(&script, !bare); err != nil {
			return err
		}
		_, _ = quoted.WriteString(cmd.OutOrStdout(), script.String()+quote) // to a screen, which keeps its error
		return nil
	}
}

var quoted = strings.NewReplacer(`printf -v comp "%q" "${compline%%$tab*}" &>/dev/null || `, "", `printf "%q" `, "__spangate_quote ")

// quote is a function of bash: printf %q that leaves commas as they are.
const quote = `
__spangate_quote() { local quoted; printf -v quoted "%q" "$1"; printf "%s" "${quoted//\\,/,}"; }
`
