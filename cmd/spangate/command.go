// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spangate/spangate"
)

// answer is what a command shows. The zero value shows nothing.
type answer struct {
	value  any      // with --json
	fields []string // pairs of a name and a value
	rest   func()   // writes what follows the fields; may be nil
	// line is shown if there are no fields and no rest. With several processes it is what each shows;
	// if it is empty, that is the fields.
	line string
	// then is called, unless it is nil, when the answer has been shown. failed is the error of the
	// output or of the context, or nil.
	then func(failed error) error
}

// oneLine returns the answer as a line.
func (a answer) oneLine() string {
	var parts []string
	for pair := range slices.Chunk(a.fields, 2) {
		if pair[1] != "" && pair[0] != "process" && pair[0] != "generation" {
			parts = append(parts, pair[0]+" "+pair[1])
		}
	}
	return cmp.Or(a.line, strings.Join(parts, "; "))
}

func (p *program) show(a answer) {
	switch {
	case p.asJSON && a.value != nil:
		p.stdout.json(a.value, "  ")
	case p.asJSON:
	case a.rest == nil && a.fields == nil && a.line != "":
		p.stdout.printf("%s\n", a.line)
	default:
		p.stdout.fields(a.fields...)
		if a.rest != nil {
			a.rest()
		}
	}
}

// command makes cmd show what run returns for its argument, or for "" if it has none.
// candidates returns the possible arguments, for completion.
func (p *program) command(cmd *cobra.Command, candidates func(*cobra.Command) []cobra.Completion, run func(context.Context, string) (answer, error)) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = checkArgs, completeArg(candidates)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p.started = true
		a, err := run(cmd.Context(), cmd.Flags().Arg(0))
		p.show(a)
		if a.then != nil {
			err = cmp.Or(a.then(cmp.Or(p.stdout.err, cmd.Context().Err())), err)
		}
		return err
	}
	return cmd
}

// offline makes cmd a command on a catalog.
func (p *program) offline(cmd *cobra.Command, run func(*spangate.Catalog, string) (answer, error)) *cobra.Command {
	catalog := spangate.Gym
	cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\n" + vocabularies
	cmd.Flags().Func("catalog", "vocabulary, `gym|lens`: gym is NeMo Gym's, lens is nemo-lens's (default gym)", func(name string) error {
		var known bool
		if catalog, known = map[string]*spangate.Catalog{"gym": spangate.Gym, "lens": spangate.Lens}[strings.ToLower(name)]; !known {
			return errors.New("there is no such catalog; there are gym (NeMo Gym) and lens (nemo-lens)")
		}
		return nil
	})
	completeFlag(cmd, "catalog", "gym\tNeMo Gym's", "lens\tnemo-lens's")
	names := func(*cobra.Command) []cobra.Completion { return catalogVocabulary(catalog).completions() }
	return p.command(cmd, names, func(_ context.Context, arg string) (answer, error) { return run(catalog, arg) })
}

// reasonFlags adds the flags that set, lease and quiet share. name is that of the flag for who, which may
// be given as --who and as --owner.
func reasonFlags(cmd *cobra.Command, name, usage string, who, why *string, allowPending *bool) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == "who" || given == "owner" {
			given = name
		}
		return pflag.NormalizedName(given)
	})
	cmd.Flags().StringVar(who, name, "", usage)
	cmd.Flags().StringVar(why, "why", "", "the reason, which get and the process's log show")
	cmd.Flags().BoolVar(allowPending, "allow-pending", false, "keep names that are not registered until they are")
}

// orUser returns name or, if it is empty, that of the user who runs the command, if it is known.
func orUser(name string) string {
	if u, err := user.Current(); err == nil {
		return cmp.Or(name, u.Username)
	}
	return name
}
