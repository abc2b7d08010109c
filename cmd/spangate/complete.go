// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/internal/spec"
)

// completeFlag completes a flag by these values, and never by files.
func completeFlag(cmd *cobra.Command, flag string, values ...cobra.Completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions( // fails for a flag that there is not
		values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
}

// completeArg completes the argument of a command, if it takes one, by candidates: an id, or the
// last entry of a spec by the names that the entries before it don't have.
func completeArg(candidates func(*cobra.Command) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 || checkArgs(cmd, nil) == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		last := strings.LastIndexByte(toComplete, ',') + 1
		if strings.HasPrefix(toComplete[last:], "-") {
			last++
		}
		before, begun := toComplete[:last], toComplete[last:]
		used := slices.Collect(spec.Entries(before))
		for _, c := range candidates(cmd) {
			name, _, _ := strings.Cut(c, "\t")
			if strings.HasPrefix(name, begun) && !slices.ContainsFunc(used, func(e spec.Entry) bool { return e.Name == name }) {
				found = append(found, before+c)
			}
		}
		// Without a space behind it, since a comma may follow.
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

func completion(name, doc string) cobra.Completion {
	return cobra.CompletionWithDesc(short(name), short(doc))
}

// names returns the names of a catalog, presets first, with their docs.
func names(c *spangate.Catalog) (found []cobra.Completion) {
	for p := range c.Presets() {
		found = append(found, completion(p.Name, p.Doc))
	}
	for g := range c.Groups() {
		found = append(found, completion(g.Name, g.Doc))
	}
	return found
}

// candidates returns the ids of the leases in the process if cmd takes one, and otherwise the
// names that are registered in it, or those of Gym if it does not answer within a second, since
// a shell is waiting.
func (r *remote) candidates(cmd *cobra.Command) (found []cobra.Completion) {
	r.timeout = min(r.timeout, time.Second)
	var state *client.State
	if c, err := r.client(); err == nil {
		state, _ = c.State(cmd.Context())
	}
	switch ids := strings.Contains(cmd.Use, "ID"); {
	case state == nil && ids:
	case state == nil:
		return names(spangate.Gym)
	case ids:
		for _, l := range state.Leases {
			found = append(found, completion(l.ID, subject(&l)+" of "+l.Owner+", "+inSeconds(left(&l))+" left"))
		}
	default:
		for _, p := range state.Presets {
			found = append(found, completion(p.Name, p.Doc))
		}
		for _, g := range state.Groups {
			found = append(found, completion(g.Name, docOf(g)))
		}
	}
	return found
}
