// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/spangate/spangate"
)

// printer shows the result to a reader: with colours and lines on a terminal, in plain ASCII
// elsewhere.
type printer struct {
	io.Writer
	branches branches
	bar      string
}

// newPrinter honours NO_COLOR and its like: what w can't or should not show is left out.
func newPrinter(w io.Writer, environment []string) *printer {
	out := colorprofile.NewWriter(w, environment)
	if out.Profile == colorprofile.NoTTY {
		return &printer{Writer: out, branches: asciiBranches, bar: "#"}
	}
	return &printer{Writer: out, branches: boxBranches, bar: "▪"}
}

// intro says what is about to be seen. Without a collector, the spans go elsewhere.
func (p *printer) intro(d *driver, c *collector) {
	fmt.Fprintln(p, bold.Render("Rollouts on four processes, their spans switched by group while they run"))
	for _, process := range d.operator.processes {
		fmt.Fprintf(p, "%-9s  process %-7d  %s\n", process.role, process.pid, process.spans())
	}
	fmt.Fprintln(p, "None restarts. Each shows what is on, and why, at its URL; --hold keeps them up.")
	if c == nil {
		fmt.Fprintf(p, "Their spans go to %s; none are drawn here.\n", d.collector)
	} else {
		fmt.Fprintln(p, "Of each job, the first rollout is drawn.")
	}
}

// heading names a spec and the groups that it stands for.
func (p *printer) heading(r Run) {
	groups := strings.Join(r.Groups, ", ")
	switch spangate.MustParse(r.Spec) {
	case 0:
		groups = "nothing"
	case spangate.PresetAll:
		groups = fmt.Sprintf("all %d groups", len(r.Groups))
	}
	fmt.Fprintf(p, "\n%s %s\n", bold.Render(fmt.Sprintf("spec %.72q", r.Spec)), faint.Render("= "+groups))
}

// run shows a job: the first of its rollouts as a tree, the others in numbers.
func (p *printer) run(r Run, spans []Span) {
	p.heading(r)
	if r.Received == nil {
		fmt.Fprintln(p, plural(len(r.Rollouts), "rollout"))
		return
	}
	first := slices.DeleteFunc(slices.Clone(spans), func(s Span) bool {
		return s.Rollout != "" && s.Rollout != r.Rollouts[0].ID
	})
	if len(first) > 0 {
		fmt.Fprintln(p, p.branches.draw(first))
	}
	fmt.Fprintln(p, p.verdict(r))
}

// verdict is a job in numbers, and whether its rollouts are whole.
func (p *printer) verdict(r Run) string {
	counts := fmt.Sprintf("%s, %s", plural(len(r.Rollouts), "rollout"), plural(r.Received.Spans, "span"))
	switch {
	case r.Received.Orphans > 0:
		return counts + ": " + alarm.Render(plural(r.Received.Orphans, "span")+" without the parent that they name")
	case !r.Received.OneTraceEach:
		return counts + ": " + alarm.Render("a rollout is in several traces")
	case r.Received.Spans == 0:
		return counts
	case r.Received.ByGroup["job"] > 0:
		return fmt.Sprintf("%s, %s: the job's, with every rollout in it", counts, plural(r.Received.Traces, "trace"))
	default:
		return fmt.Sprintf("%s, %s: one for each rollout", counts, plural(r.Received.Traces, "trace"))
	}
}

// steps shows a job in the middle of which something changed, a row for each rollout.
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
		fmt.Fprintln(p, p.verdict(r))
	}
}

func (p *printer) cost(c *Cost) {
	fmt.Fprintf(p, "\n%s\n", bold.Render("What a site that is off costs"))
	fmt.Fprintf(p, "%.2f ns a turn of a loop with the site in it, %.2f ns of a bare loop: %.2f times\n", c.OffSite, c.BareLoop, c.Ratio)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
