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

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// How often a process is asked whether something has changed. If nothing has, it usually answers
// without a body.
const (
	interval    = 2 * time.Second
	minInterval = 100 * time.Millisecond
)

// Bounds on changes. Each is many times what a process keeps; one URL may lead to several processes.
const (
	maxChanges = 256  // read of one answer: the newest
	maxSeen    = 4096 // remembered: the latest
)

func (p *program) watch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show every change, until Ctrl-C",
		Long: `Watch shows every change of what is on: when, what kind, who, why, and the groups that went
on and off. It polls the process, across restarts too. With --json each change is a line.`,
	}
	every := cmd.Flags().Duration("interval", interval, "how often to ask")
	return p.remote(cmd, 0, func(r *remote, _ string) (answer, error) {
		if *every < minInterval {
			return answer{}, usagef("--interval %v: at least %v", *every, minInterval)
		}
		return answer{}, (&watcher{remote: r}).run(*every)
	})
}

// watcher follows the changes of a process.
type watcher struct {
	*remote
	generation string
	seen       []string // the generations of changes, the latest maxSeen
	quieted    string   // the groups that leases quiet, as last shown
	lastError  string   // the error that was shown last, or empty
}

func (w *watcher) run(every time.Duration) error {
	state, _, err := w.StateSince(w.ctx, "")
	if err != nil {
		return err
	}
	w.remember(state) // changes made before the watch are not shown
	if !w.asJSON {
		w.stdout.printf("%s\n", faint.Render("on: "+list(state.Enabled, "nothing")))
	}
	w.showQuieted(state)
	for w.stdout.err == nil { // the screen keeps its error
		select {
		case <-w.ctx.Done():
			return nil
		case <-time.After(every):
		}
		state, changed, err := w.StateSince(w.ctx, w.generation)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			if w.lastError != err.Error() {
				w.lastError = err.Error()
				_, e := outcome(err)
				w.note(e.Code, message(err)+"; trying again")
			}
			continue
		case w.lastError != "":
			w.lastError = ""
			w.note("back", w.URL()+" answers again")
		}
		if changed {
			w.show(state)
		}
	}
	return nil
}

// show shows the changes that are new, the oldest first.
func (w *watcher) show(state *client.State) {
	fresh, all := w.remember(state)
	if all {
		w.note("gap", "the process has restarted, or more has changed than it remembers; what it remembers:")
	}
	for _, c := range slices.Backward(fresh) {
		if w.asJSON {
			w.stdout.json(c, "")
			continue
		}
		fields := []string{c.Time.Local().Format(time.TimeOnly), short(c.Kind), short(c.Who), cmp.Or(difference(c), faint.Render("nothing went on or off"))}
		if c.Why != "" {
			fields = append(fields, faint.Render("("+short(c.Why)+")"))
		}
		w.stdout.printf("%s\n", strings.Join(fields, "  "))
	}
	w.showQuieted(state)
}

// remember remembers the changes of state, and returns those that are new, the newest first, and
// whether all are.
func (w *watcher) remember(state *client.State) (fresh []wire.Change, all bool) {
	w.generation = state.Generation
	latest := state.Changes[:min(len(state.Changes), maxChanges)]
	for _, c := range latest {
		if !slices.Contains(w.seen, c.Generation) {
			fresh = append(fresh, c)
		}
	}
	for _, c := range fresh {
		w.seen = append(w.seen, c.Generation)
	}
	w.seen = slices.Clone(w.seen[max(0, len(w.seen)-maxSeen):])
	return fresh, len(fresh) > 0 && len(fresh) == len(latest)
}

// showQuieted shows the groups that leases quiet, and whose leases they are, if that has changed.
func (w *watcher) showQuieted(state *client.State) {
	owners := ownersOf(state.Leases)
	var groups []string
	for _, g := range state.Groups {
		if len(g.Quiet) > 0 {
			groups = append(groups, short(g.Name)+" by "+leasesOf(g.Quiet, owners))
		}
	}
	if quieted := list(groups, ""); quieted != w.quieted && !w.asJSON {
		w.quieted = quieted
		w.stdout.printf("%s\n", faint.Render("quieted: "+cmp.Or(quieted, "nothing")))
	}
}

// note writes a message that is no change to standard error.
func (w *watcher) note(code, message string) {
	if w.asJSON {
		w.stderr.json(wire.Error{Code: code, Message: message}, "  ")
		return
	}
	w.stderr.printf("%s %s\n", amber.Render("spangate:"), message)
}
