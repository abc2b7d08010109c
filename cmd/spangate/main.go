// SPDX-License-Identifier: Apache-2.0

// Spangate explains specs of span groups, and changes what is on in a running process:
//
//	spangate explain default,sandbox
//	spangate scopes --url http://localhost:8080/spans/
//	spangate lease all --for 5m --url http://localhost:8080/spans/
//	spangate quiet sql --for 10m --url @processes.txt
//
// The process mounts the endpoint of package control. Without a process the command knows two
// vocabularies, NeMo Gym's and nemo-lens's; spangate get shows the groups of a process. To install
// the command:
//
//	go install github.com/spangate/spangate/cmd/spangate@latest
//
// The help of the command has the rest, exit codes included.
package main

import (
	"cmp"
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
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(caught, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-caught
		// From now on the second signal ends the program at once. signal.NotifyContext would
		// catch it for a while after ctx is done.
		signal.Stop(caught)
		cancel()
	}()
	stdout := os.Stdout
	if wasClosed(stdout) { // all output would be lost, the id of a lease too
		stdout = os.Stderr
	}
	os.Exit(run(ctx, os.Args[1:], newScreen(stdout, os.Environ()), newScreen(os.Stderr, os.Environ())))
}

// program is what the commands have in common.
type program struct {
	stdout, stderr *screen
	asJSON         bool // the flag --json
	started        bool // the command line is good
}

// vocabularies is the help that says which names are known without a process.
const vocabularies = `Groups, presets and, without --url, explain know NeMo Gym and nemo-lens alone. The groups
of a running process, those of its libraries too, are what spangate get --url URL shows.
SPANGATE_URL does not make explain ask a process; --url does.`

const about = `Spangate explains specs of span groups, and changes what is on in a running process.

A spec selects groups by name: default,sandbox,-verify is the groups of the preset default
and the group sandbox, without the group verify. Order and case don't matter. A spec that
begins with '-' goes behind --, or is written with that entry last.

` + vocabularies + `

A running process is found by --url or SPANGATE_URL: where it has mounted the endpoint of
package control, as in http://localhost:8080/spans/. If it wants a bearer token, that is
SPANGATE_TOKEN or in the file that --token-file names.

Several processes are found by repeating --url, or by --url @FILE or SPANGATE_URL=@FILE: FILE
has a URL on each line, and # begins a comment. Get, scopes, set, reset, lease, quiet, leases
and explain then show a line for each process, those that failed last, and with --json a list
of objects, each with the url of a process and its answer or error. If one fails, the others
stay changed. The token is sent to all.

` + exitCodes

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:                        "spangate",
		Short:                      "Turn OpenTelemetry spans on and off by named group",
		Long:                       about,
		Version:                    "unknown",
		Args:                       checkArgs,
		Run:                        func(cmd *cobra.Command, _ []string) { _ = cmd.Help() }, // to a screen, which keeps its error
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		root.Version = cmp.Or(info.Main.Version, root.Version)
	}
	root.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print the answer as JSON, and an error too")
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
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
	add("On a running process:", p.get(), p.scopes(), p.watch(), p.set(), p.reset(), p.lease(), p.quiet(), p.extend(), p.release(), p.leases())
	return root
}

// run runs a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr *screen) int {
	stdout.ctx, stderr.ctx = ctx, ctx
	p := &program{stdout: stdout, stderr: stderr}
	root := newRoot(p)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	err = cmp.Or(err, stdout.err)
	switch {
	case err == nil, err == stdout.err && errors.Is(err, syscall.EPIPE): // as of head, which has read enough
		return exitOK
	case err != stdout.err && !p.started: // cobra's own errors have no type
		if strings.HasPrefix(err.Error(), "required flag") {
			err = fmt.Errorf("--for is missing, as in: %s %s --for 10m", cmd.CommandPath(), argument(cmd))
		}
		err = usagef("%w", err)
	}
	return p.report(err, cmd.Flags().Arg(0))
}

// argument returns what the Use of cmd calls its argument: SPEC, ID, [NAME], which is optional, or "".
func argument(cmd *cobra.Command) string {
	_, what, _ := strings.Cut(cmd.Use, " ")
	what, _, _ = strings.Cut(what, " ")
	return what
}

// checkArgs checks that cmd has the argument that its Use names, which may be empty, and no other. For
// an unknown command it suggests one.
func checkArgs(cmd *cobra.Command, args []string) error {
	what := argument(cmd)
	switch optional := strings.HasPrefix(what+"[", "["); {
	case len(args) == 0 && optional, len(args) == 1 && what != "":
		return nil
	case what != "" && len(args) > 1:
		return usagef("%s takes one argument, and %q is another; quote what has a space in it", cmd.Name(), args[1])
	case what == "SPEC":
		return usagef(`%s takes a spec ("" is nothing), as in: %s default,sandbox`, cmd.Name(), cmd.CommandPath())
	case what != "":
		return usagef("%s takes the id of a lease, which spangate leases shows", cmd.Name())
	case cmd.HasParent():
		return usagef("%s takes no argument, and %q is one", cmd.Name(), args[0])
	}
	hint := "see spangate --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("there is no command %q; %s", args[0], hint)
}

// badFlag explains what looked like a flag and was none: often a spec.
func badFlag(cmd *cobra.Command, err error) error {
	if strings.HasPrefix(err.Error(), "unknown shorthand flag") && strings.Contains(cmd.Use, "SPEC") {
		return fmt.Errorf("%w; a spec that begins with '-' goes behind --, as in: %s -- -sandbox,all", err, cmd.CommandPath())
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
