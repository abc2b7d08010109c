// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// program is what the commands have in common.
type program struct {
	out, err *screen
}

const about = `Spangate explains specs of span groups, and changes what is on in a running process.

A spec selects groups by name: default,sandbox,-verify is the groups of the preset default
and the group sandbox, without the group verify. Order and case don't matter. A spec that
begins with '-' goes behind --, or is written with that entry last.

A running process is found by --url or SPANGATE_URL: where it has mounted the endpoint of
package control, as in http://localhost:8080/spans/. If it wants a bearer token, that is
SPANGATE_TOKEN or in the file that --token-file names.

` + exitCodes

// The groups of commands in the help.
const (
	groupOffline = "offline"
	groupProcess = "process"
)

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:                        "spangate",
		Short:                      "Turn OpenTelemetry spans on and off by named group",
		Long:                       about,
		Version:                    version(),
		Args:                       noArgs,
		Run:                        func(cmd *cobra.Command, _ []string) { _ = cmd.Help() }, // to a screen, which keeps its error
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(badFlag)
	root.AddGroup(
		&cobra.Group{ID: groupOffline, Title: "Without a process:"},
		&cobra.Group{ID: groupProcess, Title: "On a running process:"})
	cobra.EnableCommandSorting = false // the help has them in the order of a first use
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupOffline, p.explain(), p.groups(), p.presets())
	add(groupProcess, p.get(), p.watch(), p.set(), p.reset(), p.lease(), p.quiet(), p.extend(), p.release(), p.leases())
	completeAfterCommas(root)
	return root
}

// run runs a command line and returns the exit code.
func run(ctx context.Context, args []string, out, errs *screen) int {
	out.ctx, errs.ctx = ctx, ctx
	root := newRoot(&program{out: out, err: errs})
	root.SetArgs(args)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err != nil && !started:
		err = &usageError{err} // cobra's own have no type
	case err == nil && !errors.Is(out.err, syscall.EPIPE): // as of head, which has read enough
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	asJSON, _ := cmd.Flags().GetBool(flagJSON) // false where there is none
	report(errs, err, asJSON)
	return exitCode(err)
}

// version is that of the module, or of the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
