// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

func (p *program) lease() *cobra.Command {
	return p.leasing(false, &cobra.Command{
		Use:   "lease SPEC --for DURATION",
		Short: "Turn on what a spec selects, for a limited time",
		Long: `Lease adds SPEC to what is on, for a limited time, and then ends by itself. What another
lease or the baseline has on stays on.

` + leaseHelp,
		Example: `  spangate lease all --for 5m --owner me
  spangate lease sandbox --for 1h --wait`,
	})
}

func (p *program) quiet() *cobra.Command {
	return p.leasing(true, &cobra.Command{
		Use:   "quiet SPEC --for DURATION",
		Short: "Turn off what a spec selects, for a limited time",
		Long: `Quiet takes SPEC away from the baseline, for a limited time: then it comes back by itself.
What a lease adds stays on; spangate leases shows them.

It is a lease too, which spangate extend and spangate release take.

` + leaseHelp,
		Example: `  spangate quiet sandbox --for 10m --owner me --why "too many spans"
  spangate quiet verify,agent --for 1h --wait
  spangate quiet sandbox --for 10m --url @processes.txt`,
	})
}

const leaseHelp = `With --wait the command stays until the lease ends, and ends it on Ctrl-C or SIGTERM. It
does not renew it. If it is killed, the lease still ends in time.

A lease that can't be shown is released, and the command fails; if it can't be released, its id
is in the message. If standard output is closed, the lease is shown on standard error.`

// leasing makes cmd a command that requests a lease, which adds or quiets what its argument selects.
func (p *program) leasing(quiets bool, cmd *cobra.Command) *cobra.Command {
	var flags wire.LeaseRequest
	ttl := forFlag(cmd, "how long, as in 5m or 1h30m")
	reasonFlags(cmd, "owner", "whose lease it is (default: yours)", &flags.Owner, &flags.Why, &flags.AllowPending)
	wait := cmd.Flags().Bool("wait", false, "stay until the lease ends, and end it on Ctrl-C")
	return p.remote(cmd, changes|dryRuns|several, func(r *remote, arg string) (answer, error) {
		if r.dryRun {
			return r.predict(cmd.Name(), arg, orUser(flags.Owner), flags.AllowPending)
		}
		req := flags
		req.Spec, req.Owner, req.TTL = arg, orUser(req.Owner), ttl.String()
		if quiets {
			req.Spec, req.Quiet = "", arg
		}
		// Not in the context that a signal ends: a lease that is granted meanwhile must not be
		// left behind.
		l, err := r.Lease(context.WithoutCancel(r.ctx), req, r.condition)
		shown, err := granted(l, err)
		if err != nil {
			return answer{}, err
		}
		h := &holder{remote: r, id: l.ID, deadline: time.Now().Add(left(&l.Lease))}
		shown.then = func(failed error) error {
			switch {
			case *wait:
				if err := h.hold(); err != nil || r.asJSON {
					return err
				}
				a, _ := ended(l, nil)
				r.show(a)
			case failed != nil:
				return h.release(failed)
			}
			return nil
		}
		return shown, nil
	})
}

func (p *program) extend() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "extend ID --for DURATION",
		Short:   "Let a lease live longer, or shorter, from now on",
		Example: `  spangate extend k7gq2w4xnb3ma --for 10m`,
	}
	ttl := forFlag(cmd, "how long from now on, as in 10m")
	return p.remote(cmd, changes, func(r *remote, id string) (answer, error) {
		return granted(r.Renew(r.ctx, id, *ttl, r.condition))
	})
}

func (p *program) release() *cobra.Command {
	cmd := &cobra.Command{Use: "release ID", Short: "End a lease now"}
	return p.remote(cmd, changes, func(r *remote, id string) (answer, error) { return ended(r.Release(r.ctx, id, r.condition)) })
}

func (p *program) leases() *cobra.Command {
	cmd := &cobra.Command{Use: "leases", Short: "Show the live leases, sorted by end"}
	return p.reading(cmd, func(r *remote, state *client.State, _ string) (answer, error) {
		a := answer{value: append([]wire.Lease{}, state.Leases...), line: "There is no lease."}
		if len(state.Leases) > 0 {
			a.line, a.rest = list(mapped(state.Leases, described), ""), func() { drawLeases(r.stdout, state.Leases) }
		}
		return a, nil
	})
}

// forFlag adds the flag for the time to live of a lease.
func forFlag(cmd *cobra.Command, usage string) *time.Duration {
	ttl := cmd.Flags().Duration("for", 0, usage)
	completeFlag(cmd, "for", "1m", "5m", "30m", "1h")
	_ = cmd.MarkFlagRequired("for") // fails only for an unknown flag
	return ttl
}

// granted returns the answer for a lease that was granted or renewed.
func granted(l *client.Lease, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{value: l.JSON, fields: []string{
		"lease", short(l.ID), "owner", short(l.Owner), "spec", short(l.Spec), "groups", onlyIf(l.Spec != "", list(l.Groups, "none")),
		"withheld", warning(l.Withheld, ", which the process keeps off"),
		"quiets", short(l.Quiet), "quieted", onlyIf(l.Quiet != "", list(l.Quieted, "none")),
		"still on", warning(l.StillOn, ", because a lease adds them"), "pending", list(l.Pending, ""), "ends", "in " + inSeconds(left(&l.Lease)),
	}}, nil
}

// ended returns the answer for a lease that has ended.
func ended(l *client.Lease, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{value: l.JSON, line: fmt.Sprintf("lease %s of %s on %s has ended", short(l.ID), short(l.Owner), subject(&l.Lease))}, nil
}

func drawLeases(s *screen, leases []wire.Lease) {
	s.table([]string{"LEASE", "OWNER", "SPEC", "LEFT", "WHY"}, mapped(leases, func(l wire.Lease) []string {
		return []string{label(l.ID), label(l.Owner), subject(&l), inSeconds(left(&l)), short(l.Why)}
	}))
}

// subject returns what a lease adds and quiets.
func subject(l *wire.Lease) string {
	return orQuoted(joined(", ", short(l.Spec), onlyIf(l.Quiet != "", "quiet "+short(l.Quiet))))
}

// described returns what a lease does, whose it is, and how long it has left.
func described(l wire.Lease) string {
	return subject(&l) + " of " + label(l.Owner) + ", " + inSeconds(left(&l)) + " left"
}

// left returns the remaining time of a lease.
func left(l *wire.Lease) time.Duration {
	d, err := time.ParseDuration(l.Left)
	if err != nil {
		d = max(0, time.Until(l.End))
	}
	return d
}

// holder waits for the end of a lease that this command has been granted.
type holder struct {
	*remote
	id, generation string
	deadline       time.Time // by this machine's clock, which may differ from the process's
}

// hold returns when the lease has ended. It ends the lease if the context is cancelled or the
// output has failed. On a terminal it shows how long is left.
func (h *holder) hold() error {
	const latency = time.Second // how much later the deadline here may be than that of the process
	countdown := func(text string) {
		if h.stderr.live {
			h.stderr.printf("%s%s", clearLine, text)
		}
	}
	defer countdown("")
	for h.stdout.err == nil {
		rest := time.Until(h.deadline)
		if rest <= 0 {
			return nil
		}
		countdown(inSeconds(rest) + " left; Ctrl-C ends the lease")
		select {
		case <-h.ctx.Done():
			return h.release(nil)
		case <-time.After(min(rest, time.Second)):
		}
		state, changed, err := h.StateSince(h.ctx, h.generation)
		if err != nil || !changed { // a process that does not answer has not ended it
			continue
		}
		h.generation = state.Generation
		i := slices.IndexFunc(state.Leases, func(l wire.Lease) bool { return l.ID == h.id })
		if i >= 0 { // it may have been extended, or shortened
			h.deadline = time.Now().Add(left(&state.Leases[i]))
		} else if time.Until(h.deadline) > latency {
			return &commandError{fmt.Errorf("lease %s is gone before its time: it has been released elsewhere, or the process is another one now", short(h.id)), exitStale, "gone"}
		}
	}
	return h.release(h.stdout.err)
}

// release ends the lease. It returns cause, which may be nil, with what became of the lease. It is
// no error if the lease has ended already.
func (h *holder) release(cause error) error {
	_, err := h.Release(context.WithoutCancel(h.ctx), h.id) // the command may be cancelled
	switch {
	case err != nil && !errors.Is(err, client.ErrNotFound):
		err = fmt.Errorf("lease %s is not released, and ends by itself in %s: %w", short(h.id), inSeconds(time.Until(h.deadline)), err)
		return errors.Join(cause, err)
	case cause != nil:
		return fmt.Errorf("%w; lease %s is released", cause, short(h.id))
	}
	return nil
}
