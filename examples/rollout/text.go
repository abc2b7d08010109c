// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// printer prints text for people: with colours and box characters on a terminal, in ASCII elsewhere.
type printer struct {
	io.Writer
	branch, last, vertical string // of trees
	bar                    string
}

// newPrinter honours NO_COLOR and other variables of the environment.
func newPrinter(w io.Writer, environment []string) *printer {
	out := colorprofile.NewWriter(w, environment)
	if out.Profile == colorprofile.NoTTY {
		return &printer{out, "|-- ", "`-- ", "|   ", "#"}
	}
	return &printer{out, "├── ", "└── ", "│   ", "▪"}
}

// intro lists the processes.
func (p *printer) intro(d *driver, o *options) {
	fmt.Fprintln(p, bold.Render("Rollouts on four processes, their spans switched by group while they run"))
	for _, process := range d.processes {
		fmt.Fprintf(p, "%-9s  process %-7d  %s\n", process.role, process.pid, process.spans.URL())
	}
	fmt.Fprintln(p, "No process restarts. Each URL shows which groups are on and why; --hold keeps them up.")
	switch {
	case d.bare():
		fmt.Fprintln(p, "Nothing is instrumented, so there are no spans.")
	case d.received == nil:
		fmt.Fprintf(p, "Their spans go to %s; none are drawn here.\n", d.telemetry.collector)
	case !o.detailOne:
		fmt.Fprintln(p, "The first rollout of each job is drawn.")
	}
}

// run prints a job: its first rollout as a tree, and the others as numbers.
func (p *printer) run(r Run, spans []Span) {
	groups := strings.Join(r.Groups, ", ")
	switch spangate.MustParse(r.Spec) {
	case 0:
		groups = "nothing"
	case spangate.PresetAll:
		groups = fmt.Sprintf("all %d groups", len(r.Groups))
	}
	fmt.Fprintf(p, "\n%s %s\n", bold.Render(fmt.Sprintf("spec %.72q", r.Spec)), faint.Render("= "+groups))
	first := slices.DeleteFunc(slices.Clone(spans), func(s Span) bool {
		return s.Rollout != "" && s.Rollout != r.Rollouts[0].ID
	})
	fmt.Fprint(p, p.tree(first))
	fmt.Fprintln(p, verdict(r))
}

// verdict returns the counts of a job, and whether its traces are whole.
func verdict(r Run) string {
	rollouts := plural(len(r.Rollouts), "rollout")
	if r.Received == nil {
		return rollouts
	}
	counts := rollouts + ", " + plural(r.Received.Spans, "span")
	switch {
	case r.Received.Orphans > 0:
		return counts + ": " + errorStyle.Render(plural(r.Received.Orphans, "span")+" with a parent that is missing")
	case !r.Received.OneTraceEach:
		return counts + ": " + errorStyle.Render("a rollout is in several traces")
	case r.Received.Spans == 0:
		return counts
	case r.Received.ByGroup["job"] > 0:
		return fmt.Sprintf("%s, %s: the job's, with every rollout in it", counts, plural(r.Received.Traces, "trace"))
	default:
		return fmt.Sprintf("%s, %s: one for each rollout", counts, plural(r.Received.Traces, "trace"))
	}
}

// steps prints a job in which something changed, with a line for each rollout.
func (p *printer) steps(title string, r Run) {
	fmt.Fprintf(p, "\n%s\n", bold.Render(title))
	for i, rollout := range r.Rollouts {
		change := ""
		switch {
		case i == 0 || rollout.Spec != r.Rollouts[i-1].Spec:
			change = strconv.Quote(rollout.Spec)
		case rollout.Leased == r.Rollouts[i-1].Leased:
		case rollout.Leased != "":
			change = fmt.Sprintf("resources leases %q for %v", rollout.Leased, leaseTTL)
		default:
			change = "the lease has ended"
		}
		fmt.Fprintf(p, "%-37s  rollout %d", change, i+1)
		if r.Received != nil {
			spans := r.Received.Rollouts[i].Spans
			fmt.Fprintf(p, "  %2d spans", spans)
			if spans > 0 {
				fmt.Fprint(p, "  ", faint.Render(strings.Repeat(p.bar, spans)))
			}
		}
		fmt.Fprintln(p)
	}
	if r.Received != nil {
		fmt.Fprintln(p, verdict(r))
	}
}

func (p *printer) cost(c *Cost) {
	fmt.Fprintf(p, "\n%s\n", bold.Render("What a site that is off costs"))
	fmt.Fprintf(p, "%.2f ns a turn of a loop with the site in it, %.2f ns of an empty loop: %.2f times\n", c.OffSite, c.BareLoop, c.Ratio)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// hold runs a rollout every second until ctx is done, so that the reader can change what is on.
// It draws a rollout whose spans differ from those of the one before.
func (d *driver) hold(ctx context.Context, p *printer) error {
	p.instructions(d)
	type site struct{ process, group string }
	var before map[site]int
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		r, spans, err := d.batch(ctx, []step{{}})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		now := make(map[site]int)
		for _, s := range spans {
			now[site{s.Process, s.Group}]++
		}
		if r.Received != nil && (before == nil || !maps.Equal(now, before)) {
			fmt.Fprintf(p, "\n%s1 rollout, %s\n", p.tree(spans), plural(len(spans), "span"))
			before = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// instructions prints how to change what is on.
func (p *printer) instructions(d *driver) {
	fmt.Fprintf(p, "\n%s\n", bold.Render("The processes stay up until Ctrl-C"))
	drawn := "it is drawn when it has other spans than the last."
	if d.received == nil {
		drawn = "its spans go to your collector."
	}
	fmt.Fprintln(p, "Every second a rollout runs;", drawn)
	if d.received != nil {
		fmt.Fprintln(p, "A star marks a span with the attribute", otelgate.OverrideKey)
	}
	fmt.Fprintln(p, "Change what is on in a browser, with the token below:")
	for _, process := range d.processes {
		fmt.Fprintf(p, "  %-9s  %s\n", process.role, process.spans.URL())
	}
	fmt.Fprintf(p, `or from another terminal, in the root of the repository:
  export SPANGATE_URL=%s
  export %s=%s
  go run ./cmd/spangate get
  go run ./cmd/spangate lease sandbox --for 30s
  go run ./cmd/spangate detail all --share 20%% --for 1m --url %[4]s
  curl -H "Authorization: Bearer $%[2]s" ${SPANGATE_URL}leases -d spec=sandbox -d ttl=30s -d owner=me
`, d.resources.spans.URL(), tokenVariable, d.token, d.processes[0].spans.URL())
}
