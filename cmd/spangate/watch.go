// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

// How often a process is asked whether something has changed. That nothing has, it answers
// without a body.
const (
	interval    = 2 * time.Second
	minInterval = 100 * time.Millisecond
	maxInterval = 15 * time.Second // between attempts at a process that does not answer
)

func (p *program) watch() *cobra.Command {
	var t target
	every := interval
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show every change, until Ctrl-C",
		Long: `Watch shows every change of what is on: when, what kind, who, why, and the groups that went
on and off. It asks the process now and then, and goes on through a restart of it.`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < minInterval {
				return usagef("--interval %v: at least %v", every, minInterval)
			}
			client, err := t.client()
			if err != nil {
				return err
			}
			w := &watcher{program: p, client: client, every: every, asJSON: t.asJSON}
			return w.run(cmd.Context())
		},
	}
	t.flags(cmd, "each change on a line")
	cmd.Flags().DurationVar(&every, "interval", interval, "how often to ask")
	return cmd
}

// watcher follows the changes of a process.
type watcher struct {
	*program
	client     *endpoint.Client
	every      time.Duration
	asJSON     bool
	generation string
	seen       []string // the generations of changes, the latest maxSeen
	quieted    string   // the groups that leases quiet, as last shown
	trouble    string   // the error that was said last, or empty
}

func (w *watcher) run(ctx context.Context) error {
	state, err := w.get(ctx)
	if err != nil {
		return err
	}
	w.begin(state)
	pause := w.every
	for w.out.err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		state, err := w.get(ctx)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			w.complain(err)
			pause = min(2*pause, max(maxInterval, w.every))
			continue
		}
		pause = w.every
		w.relax()
		if state != nil {
			w.show(state)
		}
	}
	return nil // the screen keeps its error
}

// get returns the state, with at most maxChanges of its changes, or nil if it has not changed.
func (w *watcher) get(ctx context.Context) (*endpoint.State, error) {
	state, err := w.client.Get(ctx, w.generation)
	if state != nil {
		state.Changes = state.Changes[:min(len(state.Changes), maxChanges)]
	}
	return state, err
}

// begin shows what is on and what leases quiet; the changes that led there are past.
func (w *watcher) begin(state *endpoint.State) {
	w.remember(state)
	if !w.asJSON {
		w.out.printf("%s\n", faint.Render("on: "+shownList(state.Enabled, "nothing")))
	}
	w.quiet(state)
}

// quiet shows the groups that leases quiet, and whose leases they are, if that has changed.
func (w *watcher) quiet(state *endpoint.State) {
	owners := ownersOf(state.Leases)
	var groups []string
	for _, g := range state.Groups {
		if len(g.Quiet) > 0 {
			groups = append(groups, caret.Short(g.Name)+" by "+strings.Join(leasesOf(g.Quiet, owners), ", "))
		}
	}
	if quieted := list(groups, ""); quieted != w.quieted && !w.asJSON {
		w.quieted = quieted
		w.out.printf("%s\n", faint.Render("quieted: "+cmp.Or(quieted, "nothing")))
	}
}

// show shows the changes that are new, the oldest first.
func (w *watcher) show(state *endpoint.State) {
	var fresh []wire.Change
	for _, c := range state.Changes {
		if !slices.Contains(w.seen, c.Generation) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == len(state.Changes) && len(fresh) > 0 {
		w.say(codeGap, "the process has begun anew, or more has changed than it remembers; what it remembers:")
	}
	w.remember(state)
	for _, c := range slices.Backward(fresh) {
		w.line(c)
	}
	w.quiet(state)
}

// maxChanges is how many changes of one answer are read, the newest: many times what a process
// remembers.
const maxChanges = 256

// maxSeen is many times what a process remembers, for the processes that one URL may lead to.
const maxSeen = 4096

func (w *watcher) remember(state *endpoint.State) {
	w.generation = state.Generation
	for _, c := range state.Changes {
		if !slices.Contains(w.seen, c.Generation) {
			w.seen = append(w.seen, c.Generation)
		}
	}
	w.seen = slices.Clone(w.seen[max(0, len(w.seen)-maxSeen):])
}

func (w *watcher) line(c wire.Change) {
	if w.asJSON {
		w.out.encode(c, "")
		return
	}
	fields := []string{c.Time.Local().Format(time.TimeOnly), caret.Short(c.Kind), caret.Short(c.Who)}
	if d := difference(c); d != "" {
		fields = append(fields, d)
	} else {
		fields = append(fields, faint.Render("nothing went on or off"))
	}
	if c.Why != "" {
		fields = append(fields, faint.Render("("+caret.Short(c.Why)+")"))
	}
	w.out.printf("%s\n", strings.Join(fields, "  "))
}

// complain says once that something is wrong.
func (w *watcher) complain(err error) {
	if w.trouble != err.Error() {
		w.trouble = err.Error()
		w.say(codeOf(err), w.trouble+"; trying again")
	}
}

// relax says that it no longer is.
func (w *watcher) relax() {
	if w.trouble != "" {
		w.trouble = ""
		w.say(codeBack, w.client.URL.String()+" answers again")
	}
}

// say says on the side what is no change.
func (w *watcher) say(code, message string) {
	if w.asJSON {
		w.err.json(wire.Error{Code: code, Message: message})
		return
	}
	w.err.printf("%s %s\n", amber.Render("spangate:"), message)
}
