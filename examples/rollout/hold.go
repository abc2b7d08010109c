// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// holdEvery is how often a rollout runs while the fleet is held.
const holdEvery = time.Second

// hold keeps the fleet up until ctx is done, so that the reader can change what is on. A
// rollout runs every second, and is drawn when it has other spans than the one before.
func (d *driver) hold(ctx context.Context, c *collector, p *printer) error {
	p.held(d, c)
	var before map[place]int
	tick := time.NewTicker(holdEvery)
	defer tick.Stop()
	for {
		_, spans, err := d.batch(ctx, c, []step{{}})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if now := places(spans); c != nil && (before == nil || !maps.Equal(now, before)) {
			p.changed(spans)
			before = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// place is where a span is to be seen.
type place struct{ process, group string }

func places(spans []Span) map[place]int {
	n := make(map[place]int)
	for _, s := range spans {
		n[place{s.Process, s.Group}]++
	}
	return n
}

// held says how to change what is on.
func (p *printer) held(d *driver, c *collector) {
	fmt.Fprintf(p, "\n%s\n", bold.Render("The processes stay up until Ctrl-C"))
	if c == nil {
		fmt.Fprintln(p, "Every second a rollout runs; its spans go to your collector.")
	} else {
		fmt.Fprintln(p, "Every second a rollout runs; it is drawn when it has other spans than the last.")
	}
	fmt.Fprintln(p, "Change what is on in a browser, with the token below:")
	for _, process := range d.operator.processes {
		fmt.Fprintf(p, "  %-9s  %s\n", process.role, process.spans())
	}
	fmt.Fprintf(p, `or from another terminal, in the root of the repository:
  export SPANGATE_URL=%s
  export %s=%s
  go run ./cmd/spangate get
  go run ./cmd/spangate lease sandbox --for 30s
  curl -H "Authorization: Bearer $%[2]s" ${SPANGATE_URL}leases -d spec=sandbox -d ttl=30s -d owner=me
`, d.fleet.resources.spans(), tokenVariable, d.operator.token)
}

// changed shows a rollout that has other spans than the one before.
func (p *printer) changed(spans []Span) {
	fmt.Fprintln(p)
	if len(spans) > 0 {
		fmt.Fprintln(p, p.branches.draw(spans))
	}
	fmt.Fprintf(p, "1 rollout, %s\n", plural(len(spans), "span"))
}
