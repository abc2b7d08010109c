// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

// holder is a lease that this command has been granted.
type holder struct {
	client     *endpoint.Client
	lease      wire.Lease
	deadline   time.Time // by this machine's clock, which need not agree with the process's
	generation string
}

func newHolder(client *endpoint.Client, l *endpoint.Lease) *holder {
	return &holder{client: client, lease: l.Lease, deadline: deadline(l.Lease)}
}

// hold returns when the lease of h has ended. It ends the lease if ctx is cancelled or out has
// failed. On a terminal it shows how long is left.
func (p *program) hold(ctx context.Context, out *screen, h *holder) error {
	// A terminal shows every second; for anything else it is enough to look now and then.
	beat := interval
	if p.err.live {
		beat = time.Second
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	defer p.clearLine()
	last := time.Now()
	for {
		if out.err != nil {
			return h.giveBack(out.err)
		}
		rest := time.Until(h.deadline)
		if rest <= 0 {
			return nil
		}
		p.countdown(rest)
		select {
		case <-ctx.Done():
			return h.release()
		case <-time.After(rest):
			// It may have been extended meanwhile.
			h.look(ctx)
		case <-tick.C:
			if time.Since(last) < interval {
				continue
			}
			last = time.Now()
			if h.look(ctx) {
				return &goneError{h.lease.ID}
			}
		}
	}
}

// look asks whether the lease is gone, or ends at another time than before. A process that
// does not answer has not ended it.
func (h *holder) look(ctx context.Context) (gone bool) {
	state, err := h.client.Get(ctx, h.generation)
	if err != nil || state == nil {
		return false
	}
	h.generation = state.Generation
	for _, l := range state.Leases {
		if l.ID == h.lease.ID {
			h.deadline = deadline(l)
			return false
		}
	}
	return time.Until(h.deadline) > latency
}

// latency is how much later than the process's own this side's deadline may be.
const latency = time.Second

// giveBack releases the lease because of err, and returns err with what became of the lease.
func (h *holder) giveBack(err error) error {
	if failed := h.release(); failed != nil {
		return fmt.Errorf("%w; %w", err, failed)
	}
	return fmt.Errorf("%w; lease %s is released", err, caret.Short(h.lease.ID))
}

// release ends the lease. That it has ended already is no error.
func (h *holder) release() error {
	// Not in the context that is cancelled: that is why.
	_, err := h.client.Release(context.Background(), h.lease.ID, "")
	var refused *endpoint.Refusal
	switch {
	case err == nil, errors.As(err, &refused) && refused.Body.Code == wire.CodeNotFound:
		return nil
	}
	return fmt.Errorf("lease %s is not released, and ends by itself in %s: %w", caret.Short(h.lease.ID), inSeconds(time.Until(h.deadline)), err)
}

// deadline is when a lease ends.
func deadline(l wire.Lease) time.Time {
	d, err := time.ParseDuration(l.Left)
	if err != nil {
		d = time.Until(l.End)
	}
	return time.Now().Add(d)
}

// countdown shows how long is left, in one line that is written again and again.
func (p *program) countdown(rest time.Duration) {
	if p.err.live {
		p.err.printf("\r\x1b[K%s left; Ctrl-C ends the lease", inSeconds(rest))
	}
}

func (p *program) clearLine() {
	if p.err.live {
		p.err.printf("\r\x1b[K")
	}
}
