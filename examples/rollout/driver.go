// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/otelsdk/gym"
)

// driver runs rollouts on the servers, and changes which spans are on while they run.
type driver struct {
	*server
	agent, model, resources *process
	processes               []*process // these, and its own
	token                   string
	received                *collector   // nil if the spans go to the reader's collector
	jobs                    trace.Tracer // of the group job
	tracer                  trace.Tracer // of no group: its site checks the gate
	client                  *http.Client

	ctx    context.Context // done when a server has died, or stop is called
	cancel context.CancelFunc
	exits  *errgroup.Group // a goroutine for each server, which waits for its exit
}

// startDriver starts the collector, the endpoint of this process, and the servers. If it fails,
// the servers that it has started end with this process.
func startDriver(ctx context.Context, o *options) (d *driver, err error) {
	d = &driver{token: rand.Text()}
	url := o.otlp
	if os.Getenv(gym.EnvRunID) == "" { // as Gym does for the processes that it starts
		os.Setenv(gym.EnvRunID, rand.Text())
	}
	if os.Getenv(keyVariable) == "" {
		os.Setenv(keyVariable, rand.Text()+rand.Text())
	}
	if url == "" {
		ignoreSettings()
		if d.received, err = startCollector(o.listen); err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
		url = d.received.url
	}
	if o.bare {
		url = ""
	}
	t, err := startTelemetry(ctx, "driver", url)
	if err != nil {
		return nil, err
	}
	d.jobs = t.provider.Group(spangate.BitJob).Tracer(gym.Scope)
	d.tracer = t.provider.Tracer(gym.Scope)
	d.client = t.newClient()
	if d.server, err = startServer(t, d.token, http.NotFoundHandler()); err != nil {
		return nil, err
	}
	self, err := newProcess("driver", os.Getpid(), d.url, d.token)
	if err != nil {
		return nil, err
	}

	ctx, d.cancel = context.WithCancel(ctx)
	d.exits, d.ctx = errgroup.WithContext(ctx)
	if d.model, err = d.start("model", url, "", ""); err != nil {
		return nil, err
	}
	if d.resources, err = d.start("resources", url, "", ""); err != nil {
		return nil, err
	}
	if d.agent, err = d.start("agent", url, d.model.url, d.resources.url); err != nil {
		return nil, err
	}
	d.processes = []*process{self, d.agent, d.model, d.resources}
	return d, nil
}

// stop ends every process, and returns an error if a server died or had to be killed.
func (d *driver) stop() error {
	d.cancel()
	err := d.exits.Wait()
	d.Close()
	d.telemetry.stop()
	if d.received != nil {
		d.received.Close()
	}
	return err
}

// ignoreSettings unsets the OTEL_… variables, for the servers too: they are meant for the
// reader's collector, and they could change the number of spans here.
func ignoreSettings() {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name)
		}
	}
}

// step is one rollout of a job, and what is on when it begins. It differs in one field at most
// from the step before.
type step struct {
	spec  string // the baseline of every process
	lease bool   // whether the resources server has a lease of leasedSpec
}

const (
	leasedSpec = "sandbox"
	leaseTTL   = time.Second
)

// run makes the spec of the first step the baseline and runs a job.
func (d *driver) run(ctx context.Context, steps []step) (Run, []Span, error) {
	if err := d.setSpec(ctx, steps[0].spec); err != nil {
		return Run{}, nil, err
	}
	return d.batch(ctx, steps)
}

// batch runs a job, and returns the spans of it that the driver has received.
func (d *driver) batch(ctx context.Context, steps []step) (r Run, spans []Span, err error) {
	rollouts, err := d.job(ctx, steps)
	if err != nil {
		return r, nil, err
	}
	return d.collect(ctx, rollouts)
}

// collect returns the run of these rollouts, and the spans that the driver has received of it.
func (d *driver) collect(ctx context.Context, rollouts []Rollout) (r Run, spans []Span, err error) {
	for _, p := range d.processes {
		if _, err := call[struct{}](ctx, untraced, p.url, "/flush", struct{}{}); err != nil {
			return r, nil, fmt.Errorf("the %s: %w", p.role, err)
		}
	}
	r = newRun(rollouts)
	if d.received != nil {
		var bytes int
		spans, bytes = d.received.take()
		r.Received = count(spans, rollouts)
		r.Received.Bytes = bytes
	}
	return r, spans, nil
}

// job runs one rollout for each step, and changes what is on between them.
func (d *driver) job(ctx context.Context, steps []step) (rollouts []Rollout, err error) {
	err = otelgate.Do(ctx, d.jobs, gym.SpanJob, func(ctx context.Context, _ trace.Span) error {
		for i, s := range steps {
			if i > 0 {
				if err := d.change(ctx, steps[i-1], s); err != nil {
					return err
				}
			}
			rollout, err := d.rollout(ctx, newRolloutID(), tasks[i%len(tasks)])
			if err != nil {
				return fmt.Errorf("rollout %d: %w", i+1, err)
			}
			rollout.Spec = s.spec
			if s.lease {
				rollout.Leased = leasedSpec
			}
			rollouts = append(rollouts, rollout)
		}
		return nil
	})
	return rollouts, err
}

// rollout runs a task on the agent.
func (d *driver) rollout(ctx context.Context, id string, task Task) (Rollout, error) {
	ctx, err := gym.ContextWithRolloutID(ctx, id)
	if err != nil {
		return Rollout{}, err
	}
	ctx = d.control.Offer(ctx, func(field string) string {
		if field == rolloutField {
			return id
		}
		return ""
	})
	if d.gate.OnContext(ctx, spangate.BitRollout) {
		var span trace.Span
		ctx, span = d.tracer.Start(ctx, gym.SpanRollout)
		defer span.End()
	}
	outcome, err := call[Outcome](ctx, d.client, d.agent.url, "/run", task)
	return Rollout{ID: id, Prompt: task.Prompt, Answer: outcome.Answer, Reward: outcome.Reward}, err
}

// change makes the change between two steps.
func (d *driver) change(ctx context.Context, from, to step) (err error) {
	switch {
	case from.spec != to.spec:
		err = d.setSpec(ctx, to.spec)
	case to.lease && !from.lease:
		_, err = d.resources.spans.Lease(ctx, wire.LeaseRequest{Owner: "driver", Spec: leasedSpec, TTL: leaseTTL.String()})
	case from.lease && !to.lease:
		err = d.resources.awaitExpiry(ctx)
	}
	return err
}

// setSpec makes spec the baseline of every process, as a person would with the page, curl or
// the spangate command.
func (d *driver) setSpec(ctx context.Context, spec string) error {
	for _, p := range d.processes {
		if _, err := p.spans.SetBaseline(ctx, wire.Baseline{Spec: spec, Who: "driver"}); err != nil {
			return fmt.Errorf("the %s: %w", p.role, err)
		}
	}
	return nil
}

// awaitExpiry returns when no lease is left in the process.
func (p *process) awaitExpiry(ctx context.Context) error {
	for {
		state, err := p.spans.State(ctx)
		if err != nil || len(state.Leases) == 0 {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
