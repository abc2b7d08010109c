// SPDX-License-Identifier: Apache-2.0

// Spangate explains specs of span groups, and changes what is on in a running process:
//
//	spangate explain default,sandbox
//	spangate lease all --for 5m --url http://localhost:8080/spans/
//
// The process mounts the endpoint of package control. To install the command:
//
//	go install github.com/spangate/spangate/cmd/spangate@latest
//
// The help of the command has the rest, exit codes included.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	// With the signal ignored, a write to a pipe whose reader has gone is an error like any
	// other. So the command can release a lease that it could not show.
	signal.Ignore(syscall.SIGPIPE)
	log.SetOutput(io.Discard) // where net/http records what it does not return
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, signals...)
	go func() {
		<-caught
		// From now on the second signal ends the program at once. signal.NotifyContext would
		// catch it for a while after ctx is done.
		signal.Stop(caught)
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], newScreen(os.Stdout, os.Environ()), newScreen(os.Stderr, os.Environ())))
}

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
	cobra.EnableCommandSorting = false // the help has them in the order of a first use
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, c := range commands {
			c.GroupID = title
			root.AddCommand(c)
		}
	}
	add("Without a process:", p.explain(), p.groups(), p.presets())
	add("On a running process:", p.get(), p.watch(), p.set(), p.reset(), p.lease(), p.quiet(), p.extend(), p.release(), p.leases())
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
	case err != nil && !started: // cobra's own errors have no type
		err = usagef("%w", err)
	case err == nil && !errors.Is(out.err, syscall.EPIPE): // as of head, which has read enough
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	asJSON, _ := cmd.Flags().GetBool(flagJSON) // false where there is none
	report(errs, err, cmd.Flags().Arg(0), asJSON)
	exit, _ := outcome(err)
	return exit
}

// version returns the version of the module, or of the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// flagJSON is the flag of every command that shows something.
const flagJSON = "json"

func jsonFlag(cmd *cobra.Command, shows string) *bool {
	return cmd.Flags().Bool(flagJSON, false, "print "+shows+" as JSON, and an error as JSON too")
}

// noArgs refuses arguments, and suggests a command where one was expected.
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

// oneID takes exactly one argument.
var oneID = oneArg("the id of a lease, which spangate leases shows", "ID")

// badFlag explains what looked like a flag and was none: often a spec.
func badFlag(cmd *cobra.Command, err error) error {
	if strings.HasPrefix(err.Error(), "unknown shorthand flag") && strings.Contains(cmd.Use, "SPEC") {
		return fmt.Errorf("%w; a spec that begins with '-' goes behind --, as in: %s -- -sandbox,all", err, cmd.CommandPath())
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
