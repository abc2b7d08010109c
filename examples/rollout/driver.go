// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// driver runs rollouts on a fleet, and has the operator change which spans are on while they
// run.
type driver struct {
	*telemetry
	fleet    *fleet
	operator *operator
	tracer   trace.Tracer // of no group: its sites look at the gate themselves
	jobs     trace.Tracer // of the group job
	client   *http.Client
}

func newDriver(t *telemetry, f *fleet, o *operator) *driver {
	return &driver{
		telemetry: t,
		fleet:     f,
		operator:  o,
		tracer:    t.provider.Tracer(scope),
		jobs:      t.provider.Group(spangate.BitJob).Tracer(scope),
		client:    newClient(),
	}
}

// step is one rollout of a job, and what is on when it begins.
type step struct {
	spec  string // of every process
	lease bool   // of leasedSpec, besides, by the resources server
}

const (
	leasedSpec = "sandbox"
	leaseTTL   = time.Second
)

// job runs a batch of rollouts, one for each step. Where something else is to be on than
// before, it is changed first, while the job and the fleet run on.
func (d *driver) job(ctx context.Context, steps []step) (rollouts []Rollout, err error) {
	err = otelgate.Do(ctx, d.jobs, "job", func(ctx context.Context, span trace.Span) error {
		span.SetAttributes(attribute.Int("job.rollouts", len(steps)))
		for i, s := range steps {
			if i > 0 {
				if err := d.change(ctx, steps[i-1], s); err != nil {
					return err
				}
			}
			rollout, err := d.rollout(ctx, tasks[i%len(tasks)])
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

// change goes from what is on at one step to what is on at the next.
func (d *driver) change(ctx context.Context, from, to step) (err error) {
	if from.spec != to.spec {
		if err := d.operator.set(ctx, to.spec); err != nil {
			return err
		}
	}
	switch {
	case to.lease && !from.lease:
		_, err = d.operator.lease(ctx, d.fleet.resources, leasedSpec, leaseTTL)
	case from.lease && !to.lease:
		err = d.operator.untilUnleased(ctx, d.fleet.resources)
	}
	return err
}

// run sets the spec of the first step and runs a job.
func (d *driver) run(ctx context.Context, c *collector, steps []step) (Run, []Span, error) {
	if err := d.operator.set(ctx, steps[0].spec); err != nil {
		return Run{}, nil, err
	}
	return d.batch(ctx, c, steps)
}

// batch runs a job and returns what c has received of it when all of it has been sent. With
// no c, the spans went elsewhere.
func (d *driver) batch(ctx context.Context, c *collector, steps []step) (Run, []Span, error) {
	rollouts, err := d.job(ctx, steps)
	if err != nil {
		return Run{}, nil, err
	}
	if err := d.flushAll(ctx); err != nil {
		return Run{}, nil, err
	}
	r := newRun(rollouts)
	if c == nil {
		return r, nil, nil
	}
	spans, bytes := c.takeAll()
	r.Received = count(spans, rollouts)
	r.Received.Bytes = bytes
	return r, spans, nil
}

// rollout has the agent do a task.
func (d *driver) rollout(ctx context.Context, task Task) (Rollout, error) {
	ctx, id, err := withRolloutID(ctx)
	if err != nil {
		return Rollout{}, err
	}
	if d.gate.On(spangate.BitRollout) {
		var span trace.Span
		ctx, span = d.tracer.Start(ctx, "rollout", trace.WithAttributes(attribute.String("rollout.prompt", task.Prompt)))
		defer span.End()
	}
	outcome, err := call[Outcome](ctx, d.client, d.fleet.agent.url+"/run", task)
	return Rollout{ID: id, Prompt: task.Prompt, Answer: outcome.Answer, Reward: outcome.Reward}, err
}

// flushAll returns when every span that has ended, in any process, has reached the collector.
func (d *driver) flushAll(ctx context.Context) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	for _, p := range []*process{d.fleet.agent, d.fleet.model, d.fleet.resources} {
		if _, err := send(ctx, d.operator.client, http.MethodPost, p.url+"/flush", nil); err != nil {
			return fmt.Errorf("the %s server: %w", p.role, err)
		}
	}
	return nil
}
