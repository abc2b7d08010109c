// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
)

// flagJSON is the flag of every command that shows something.
const flagJSON = "json"

func jsonFlag(flags *pflag.FlagSet, asJSON *bool, what string) {
	flags.BoolVar(asJSON, flagJSON, false, "print "+what+" as JSON, and an error as JSON too")
}

// noArgs refuses arguments, and where a command was expected says which is near.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return usagef("%s takes no argument, and %q is one", cmd.Name(), args[0])
	}
	hint := "see spangate --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("there is no command %q; %s", args[0], hint)
}

// oneArg takes exactly one argument; example shows what it may be.
func oneArg(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("%s takes %s, as in: %s %s", cmd.Name(), what, cmd.CommandPath(), example)
		case 1:
			return nil
		}
		return usagef("%s takes one argument, and %q is another; quote what has a space in it", cmd.Name(), args[1])
	}
}

const exampleSpec = "default,sandbox"

// oneSpec takes exactly one argument, which may be empty.
var oneSpec = oneArg(`a spec ("" is nothing)`, exampleSpec)

// oneID takes exactly one argument, which can be part of a path: not one that a proxy would
// take for another path.
func oneID(cmd *cobra.Command, args []string) error {
	if err := oneArg("the id of a lease, which spangate leases shows", "ID")(cmd, args); err != nil {
		return err
	}
	id := args[0]
	if strings.Trim(id, ".") == "" || strings.ContainsAny(id, `/\%?#`) || caret.Shown(id) != id {
		return usagef("%q is no id of a lease; spangate leases shows them", shorten(id))
	}
	return nil
}

// badFlag explains what looked like a flag and was none: often a spec.
func badFlag(cmd *cobra.Command, err error) error {
	if spec := strings.HasPrefix(err.Error(), "unknown shorthand flag"); spec && strings.Contains(cmd.Use, "SPEC") {
		return fmt.Errorf("%w; a spec that begins with '-' goes behind --, as in: %s -- -sandbox,all", err, cmd.CommandPath())
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
