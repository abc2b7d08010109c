// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// completeFlag completes a flag by these values, and never by files.
func completeFlag(cmd *cobra.Command, flag string, values ...cobra.Completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions( // fails only for an unknown flag
		values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
}

// completeArg completes the argument of a command, if it takes one, by candidates: an id, or the last
// entry of a spec, without the names of the entries before it.
func completeArg(candidates func(*cobra.Command) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 || argument(cmd) == "" {
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
		// No space after it, since a comma may follow.
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

func completion(name, doc string) cobra.Completion {
	return cobra.CompletionWithDesc(short(name), short(doc))
}

// completions returns the names of v, presets first, with their docs.
func (v *vocabulary) completions() []cobra.Completion {
	return append(
		mapped(v.presets, func(p wire.Preset) cobra.Completion { return completion(p.Name, p.Doc) }),
		mapped(v.groups, func(g wire.Group) cobra.Completion { return completion(g.Name, docOf(g)) })...)
}

// candidates returns the possible arguments of cmd: ids of leases in the process, and names that are
// registered there. If it does not answer within a second, the names are those of Gym: a shell is waiting.
func (r *remote) candidates(cmd *cobra.Command) []cobra.Completion {
	r.timeout = min(r.timeout, time.Second)
	v, leases := catalogVocabulary(spangate.Gym), []wire.Lease(nil)
	if clients, _, err := r.clients(); err == nil {
		if state, err := clients[0].State(cmd.Context()); err == nil {
			v, leases = newVocabulary("", state.Groups, state.Presets), state.Leases
		}
	}
	ids := mapped(leases, func(l wire.Lease) cobra.Completion { return completion(l.ID, described(l)) })
	switch argument(cmd) {
	case "SPEC":
		return v.completions()
	case "ID":
		return ids
	}
	return append(v.completions(), ids...)
}
