// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/internal/spec"
)

// name is a name that a spec may have, with what a shell shows beside it.
type name struct{ name, doc string }

// completions are the names of the catalog, presets first.
func (c *catalog) completions() []name {
	var names []name
	for p := range c.Presets() {
		names = append(names, name{p.Name, p.Doc})
	}
	for g := range c.Groups() {
		names = append(names, name{g.Name, g.Doc})
	}
	return names
}

// completeSpec completes the last entry of a spec by the names that the entries before it
// don't have.
func completeSpec(names func(*cobra.Command) []name) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
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
		var completions []cobra.Completion
		for _, n := range names(cmd) {
			if !used[n.name] && strings.HasPrefix(n.name, begun) {
				completions = append(completions, cobra.CompletionWithDesc(before+caret.Short(n.name), caret.Short(n.doc)))
			}
		}
		// Without a space behind it, since a comma may follow.
		return completions, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}
