// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// driver runs rollouts on a fleet and decides which spans are on, in its own process and in
// the fleet's.
type driver struct {
	*telemetry
	fleet   *fleet
	tracer  trace.Tracer // of no group: its sites look at the gate themselves
	jobs    trace.Tracer // of the group job
	client  *http.Client
	control *http.Client // not traced: to change what is traced is no part of a rollout
}

func newDriver(t *telemetry, f *fleet) *driver {
	return &driver{
		telemetry: t,
		fleet:     f,
		tracer:    t.provider.Tracer(scope),
		jobs:      t.provider.Group(spangate.BitJob).Tracer(scope),
		client:    newClient(),
		control:   &http.Client{Timeout: callTimeout},
	}
}

// job runs a batch of rollouts, one for each spec. Where the spec is another than before, it
// is set first, while the job and the fleet run on.
func (d *driver) job(ctx context.Context, specs []string) (rollouts []Rollout, err error) {
	if err := d.setSpans(ctx, specs[0]); err != nil {
		return nil, err
	}
	err = otelgate.Do(ctx, d.jobs, "job", func(ctx context.Context, span trace.Span) error {
		span.SetAttributes(attribute.Int("job.rollouts", len(specs)))
		for i, spec := range specs {
			if i > 0 && spec != specs[i-1] {
				if err := d.setSpans(ctx, spec); err != nil {
					return err
				}
			}
			rollout, err := d.rollout(ctx, tasks[i%len(tasks)])
			if err != nil {
				return fmt.Errorf("rollout %d: %w", i+1, err)
			}
			rollout.Spec = spec
			rollouts = append(rollouts, rollout)
		}
		return nil
	})
	return rollouts, err
}

// run runs a job and returns what c has received of it when all of it has been sent. With
// no c, the spans went elsewhere.
func (d *driver) run(ctx context.Context, c *collector, specs []string) (Run, []Span, error) {
	rollouts, err := d.job(ctx, specs)
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
	spans := c.take()
	r.Received = count(spans, rollouts)
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

// setSpans turns exactly the groups of spec on, in every process.
func (d *driver) setSpans(ctx context.Context, spec string) error {
	mask, err := spangate.Parse(spec)
	if err != nil {
		return err
	}
	d.gate.Store(mask)
	return d.command(ctx, http.MethodPut, "/spans", []byte(spec))
}

// flushAll returns when every span that has ended, in any process, has reached the collector.
func (d *driver) flushAll(ctx context.Context) error {
	if err := d.flush(ctx); err != nil {
		return err
	}
	return d.command(ctx, http.MethodPost, "/flush", nil)
}

// command sends one request to the control of each server.
func (d *driver) command(ctx context.Context, method, path string, body []byte) error {
	for _, s := range []*server{d.fleet.agent, d.fleet.model, d.fleet.resources} {
		if _, err := send(ctx, d.control, method, s.url+path, body); err != nil {
			return fmt.Errorf("the %s server: %w", s.role, err)
		}
	}
	return nil
}
