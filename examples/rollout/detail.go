// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/otelsdk/gym"
)

// choose returns the override that a lease with a share gives to a trace, where it begins.
func (t *telemetry) choose(_ context.Context, sc trace.SpanContext) *spangate.Override {
	return t.control.Begin(sc.TraceID(), sc.TraceState().Get("ot"))
}

// admit returns the override that came with a request, signed by the key of the processes.
func (t *telemetry) admit(name spangate.OverrideName) *spangate.Override {
	return t.control.Admit(name)
}

const (
	// rolloutField is the field that a lease can match, as in nemo.gym.rollout.id=ID. Only the driver
	// offers it: the override reaches the other processes with its requests.
	rolloutField = string(gym.RolloutIDKey)
	detailSpec   = "all"
)

// detailed returns which of n rollouts gets full detail: the first whose answer is wrong, or the last
// if there are fewer.
func detailed(n int) int { return min(2, n-1) }

// detailOne runs n rollouts with the spec default, and one of them in full detail. It runs no job, so
// that each rollout is a trace.
func (d *driver) detailOne(ctx context.Context, n int) (r Run, spans []Span, err error) {
	const spec = "default"
	if err := d.setSpec(ctx, spec); err != nil {
		return r, nil, err
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = newRolloutID()
	}
	driver := d.processes[0]
	lease, err := driver.spans.Lease(ctx, wire.LeaseRequest{
		Owner: "driver", Spec: detailSpec, Match: rolloutField + "=" + ids[detailed(n)], TTL: "1m", Why: "its answer is wrong",
	})
	if err != nil {
		return r, nil, fmt.Errorf("the driver: %w", err)
	}
	defer func() {
		_, released := driver.spans.Release(ctx, lease.ID)
		err = errors.Join(err, released)
	}()
	var rollouts []Rollout
	for i, id := range ids {
		rollout, err := d.rollout(ctx, id, tasks[i%len(tasks)])
		if err != nil {
			return r, nil, fmt.Errorf("rollout %d: %w", i+1, err)
		}
		rollout.Spec = spec
		rollouts = append(rollouts, rollout)
	}
	return d.collect(ctx, rollouts)
}

// DetailOne is the result of --detail-one.
type DetailOne struct {
	Rollouts []DetailedRollout `json:"rollouts"`
}

// DetailedRollout is a rollout with its spans.
type DetailedRollout struct {
	Rollout
	RolloutSpans
	Overridden bool           `json:"overridden"` // its spans have the attribute spangate.override
	ByProcess  map[string]int `json:"by_process"`
}

// newDetailOne returns nil if no spans were received.
func newDetailOne(r Run, spans []Span) *DetailOne {
	if r.Received == nil {
		return nil
	}
	d := new(DetailOne)
	for i, rollout := range r.Rollouts {
		own := ofRollout(spans, rollout)
		d.Rollouts = append(d.Rollouts, DetailedRollout{
			Rollout: rollout, RolloutSpans: r.Received.Rollouts[i],
			Overridden: slices.ContainsFunc(own, func(s Span) bool { return s.Override != "" }),
			ByProcess:  count(own, nil).ByProcess,
		})
	}
	return d
}

func ofRollout(spans []Span, r Rollout) []Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Rollout != r.ID })
}

// detailOne draws the overridden rollout beside one of the others, and prints a line for each
// rollout.
func (p *printer) detailOne(r Run, spans []Span) {
	fmt.Fprintf(p, "\n%s\n", bold.Render("One rollout in full detail, the others with the spec default"))
	fmt.Fprintf(p, "The driver had a lease of %q on traces with %s=%s.\n", detailSpec, rolloutField, r.Rollouts[detailed(len(r.Rollouts))].ID)
	fmt.Fprintf(p, "Where such a trace enters a process, its first span has the attribute %s (*).\n", otelgate.OverrideKey)
	d := newDetailOne(r, spans)
	if d == nil {
		fmt.Fprintln(p, plural(len(r.Rollouts), "rollout"))
		return
	}
	var trees []string
	for _, overridden := range []bool{true, false} {
		i := slices.IndexFunc(d.Rollouts, func(r DetailedRollout) bool { return r.Overridden == overridden })
		if i < 0 {
			continue // there is one rollout
		}
		labels, processes, _ := p.rows(ofRollout(spans, d.Rollouts[i].Rollout), false)
		title := bold.Render(fmt.Sprintf("rollout %d", i+1))
		trees = append(trees, column.Render(title+"\n"+beside(labels, column.Render(processes))))
	}
	fmt.Fprint(p, "\n", beside(trees...))
	for i, rollout := range d.Rollouts {
		fmt.Fprintf(p, "rollout %2d  %2d spans  %s\n", i+1, rollout.Spans, faint.Render(strings.Repeat(p.bar, rollout.Spans)))
	}
	fmt.Fprintln(p, verdict(r))
}
