// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

func (p *program) lease() *cobra.Command {
	return p.leasing("adds", func(r *wire.LeaseRequest) *string { return &r.Spec }, &cobra.Command{
		Use:   "lease SPEC --for DURATION",
		Short: "Turn on what a spec selects, for a limited time",
		Long: `Lease adds SPEC to what is on, for a limited time: then it goes back by itself, and takes
nothing with it that another lease or the baseline has on.

` + leaseHelp,
		Example: `  spangate lease all --for 5m --owner me
  spangate lease sandbox --for 1h --wait`,
	})
}

func (p *program) quiet() *cobra.Command {
	return p.leasing("quiets", func(r *wire.LeaseRequest) *string { return &r.Quiet }, &cobra.Command{
		Use:   "quiet SPEC --for DURATION",
		Short: "Turn off what a spec selects, for a limited time",
		Long: `Quiet takes SPEC away from the baseline, for a limited time: then it comes back by itself.
What a lease adds stays on; spangate leases shows them.

It is a lease too, which spangate extend and spangate release take.

` + leaseHelp,
		Example: `  spangate quiet sandbox --for 10m --owner me --why "too many spans"
  spangate quiet verify,agent --for 1h --wait`,
	})
}

const leaseHelp = `With --wait the command stays until the lease ends, and ends it on Ctrl-C or SIGTERM. It
does not renew it. If it is killed, the lease still ends in time.

A lease that can't be shown, since a disk is full or a pipe is closed, is released, and the
command fails; if it can't be released, its id is in the message. If standard output is
closed, the lease is shown on standard error.`

// leasing makes cmd a command that requests a lease. Its argument goes into the field of the
// request that field returns; does is the verb for messages, "adds" or "quiets".
func (p *program) leasing(does string, field func(*wire.LeaseRequest) *string, cmd *cobra.Command) *cobra.Command {
	var req wire.LeaseRequest
	var wait bool
	ttl := forFlag(cmd, "how long, as in 5m or 1h30m")
	cmd.Flags().StringVar(&req.Owner, "owner", "", "whose lease it is (default: yours)")
	cmd.Flags().StringVar(&req.Why, "why", "", "the reason, which get and the process's log show")
	cmd.Flags().BoolVar(&req.AllowPending, "allow-pending", false, "keep names that are not registered until they are")
	cmd.Flags().BoolVar(&wait, "wait", false, "stay until the lease ends, and end it on Ctrl-C")
	return p.remote(cmd, "the lease", true, func(r *remote, args []string) error {
		*field(&req) = args[0]
		req.Owner = cmp.Or(req.Owner, userName())
		req.TTL = ttl.String()
		if err := cmp.Or(checkText("the spec", args[0]), checkSelects(args[0], does), checkText("--owner", req.Owner), checkText("--why", req.Why), checkFor(*ttl)); err != nil {
			return err
		}
		// Not in the context that a signal ends: a lease that is granted meanwhile must not be
		// left behind.
		l, err := r.Lease(context.WithoutCancel(r.ctx), req, r.when())
		if err != nil {
			return err
		}
		if r.out.closed {
			r.out = r.err
		}
		showLease(r, l)
		h := &holder{remote: r, id: l.ID, deadline: deadline(&l.Lease)}
		if !wait {
			if err := cmp.Or(r.out.err, r.ctx.Err()); err != nil {
				return h.giveBack(err)
			}
			return nil
		}
		if err := h.hold(); err != nil {
			return err
		}
		if !*r.asJSON {
			showEnd(r, l)
		}
		return nil
	})
}

func (p *program) extend() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "extend ID --for DURATION",
		Short:   "Let a lease live longer, or shorter, from now on",
		Example: `  spangate extend k7gq2w4xnb3ma --for 10m`,
	}
	ttl := forFlag(cmd, "how long from now on, as in 10m")
	return p.remote(cmd, "the lease", true, func(r *remote, args []string) error {
		if err := checkFor(*ttl); err != nil {
			return err
		}
		l, err := r.Renew(r.ctx, args[0], *ttl, r.when())
		if err == nil {
			showLease(r, l)
		}
		return err
	})
}

func (p *program) release() *cobra.Command {
	cmd := &cobra.Command{Use: "release ID", Short: "End a lease now"}
	return p.remote(cmd, "the lease that ended", true, func(r *remote, args []string) error {
		l, err := r.Release(r.ctx, args[0], r.when())
		if err != nil {
			return err
		}
		r.out.show(*r.asJSON, l.JSON, func() { showEnd(r, l) })
		return nil
	})
}

func (p *program) leases() *cobra.Command {
	cmd := &cobra.Command{Use: "leases", Short: "Show the live leases, the first to end first"}
	return p.remote(cmd, "the leases", false, func(r *remote, _ []string) error {
		state, err := r.State(r.ctx)
		if err != nil {
			return err
		}
		r.out.show(*r.asJSON, append([]wire.Lease{}, state.Leases...), func() {
			if len(state.Leases) == 0 {
				r.out.printf("There is no lease.\n")
				return
			}
			r.out.table(leaseHeaders, leaseRows(state.Leases))
		})
		return nil
	})
}

// forFlag adds the flag for how long a lease shall live.
func forFlag(cmd *cobra.Command, usage string) *time.Duration {
	ttl := cmd.Flags().Duration("for", 0, usage)
	completeFlag(cmd, "for", "1m", "5m", "30m", "1h")
	return ttl
}

func checkFor(ttl time.Duration) error {
	if ttl <= 0 {
		return usagef("how long? Give --for, as in --for 5m")
	}
	return nil
}

// checkSelects returns an error if text selects nothing in any process, so that a lease with it
// could do nothing. Whether it selects something there, only the process can check.
func checkSelects(text, does string) error {
	selects := false
	for e := range spec.Entries(text) {
		if e.Exclude && strings.EqualFold(e.Name, spangate.NameAll) {
			return usagef("a lease that %s %q would do nothing, since -all takes everything away; name a group", does, spec.Head(text))
		}
		selects = selects || !e.Exclude
	}
	if !selects {
		return usagef("a lease that %s %q would do nothing; name a group, as in %s", does, spec.Head(text), exampleSpec)
	}
	return nil
}

// showLease shows what was granted.
func showLease(r *remote, l *client.Lease) {
	r.out.show(*r.asJSON, l.JSON, func() {
		r.out.fields("lease", short(l.ID), "owner", short(l.Owner), "spec", short(l.Spec), "groups", onlyIf(l.Spec != "", list(l.Groups, "none")),
			"withheld", warning(l.Withheld, ", which the process keeps off"),
			"quiets", short(l.Quiet), "quieted", onlyIf(l.Quiet != "", list(l.Quieted, "none")),
			"still on", warning(l.StillOn, ", because a lease adds them"), "pending", list(l.Pending, ""), "ends", "in "+left(&l.Lease))
	})
}

func showEnd(r *remote, l *client.Lease) {
	r.out.printf("lease %s of %s on %s has ended\n", short(l.ID), short(l.Owner), subject(&l.Lease))
}

var leaseHeaders = []string{"LEASE", "OWNER", "SPEC", "LEFT", "WHY"}

func leaseRows(leases []wire.Lease) (rows [][]string) {
	for _, l := range leases {
		rows = append(rows, []string{label(l.ID), label(l.Owner), subject(&l), left(&l), short(l.Why)})
	}
	return rows
}

// subject returns what a lease is on: a spec, or what it quiets.
func subject(l *wire.Lease) string {
	switch {
	case l.Quiet == "":
		return orQuoted(short(l.Spec))
	case l.Spec == "":
		return "quiet " + short(l.Quiet)
	}
	return short(l.Spec) + ", quiet " + short(l.Quiet)
}

// left returns how long a lease lives, in whole seconds.
func left(l *wire.Lease) string {
	d, err := time.ParseDuration(l.Left)
	if err != nil {
		return strconv.Quote(spec.Head(l.Left))
	}
	return inSeconds(d)
}

// deadline returns when a lease ends, by this machine's clock.
func deadline(l *wire.Lease) time.Time {
	d, err := time.ParseDuration(l.Left)
	if err != nil {
		d = time.Until(l.End)
	}
	return time.Now().Add(d)
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
	show := func(text string) {
		if h.err.live {
			h.err.printf("%s%s", clearLine, text)
		}
	}
	defer show("")
	for next := time.Now().Add(interval); ; {
		if h.out.err != nil {
			return h.giveBack(h.out.err)
		}
		// At the end too: it may have been extended meanwhile.
		if now := time.Now(); now.After(next) || now.After(h.deadline) {
			if next = now.Add(interval); h.isGone() {
				return &commandError{fmt.Errorf("lease %s is gone before its time: it has been released elsewhere, or the process is another one now", short(h.id)), exitStale, codeGone}
			}
		}
		rest := time.Until(h.deadline)
		if rest <= 0 {
			return nil
		}
		show(inSeconds(rest) + " left; Ctrl-C ends the lease")
		select {
		case <-h.ctx.Done():
			return h.end()
		case <-time.After(min(rest, time.Second)):
		}
	}
}

// isGone reports whether the lease has ended before its time, and learns about another end. A
// process that does not answer has not ended it.
func (h *holder) isGone() bool {
	state, changed, err := h.StateSince(h.ctx, h.generation)
	if err != nil || !changed {
		return false
	}
	h.generation = state.Generation
	i := slices.IndexFunc(state.Leases, func(l wire.Lease) bool { return l.ID == h.id })
	if i >= 0 {
		h.deadline = deadline(&state.Leases[i])
		return false
	}
	const latency = time.Second // how much later than the process's own the deadline here may be
	return time.Until(h.deadline) > latency
}

// giveBack ends the lease because of err, and returns err with what became of the lease.
func (h *holder) giveBack(err error) error {
	if failed := h.end(); failed != nil {
		return fmt.Errorf("%w; %w", err, failed)
	}
	return fmt.Errorf("%w; lease %s is released", err, short(h.id))
}

// end ends the lease. That it has ended already is no error.
func (h *holder) end() error {
	// Not in the context of the command, which may be cancelled.
	_, err := h.Release(context.WithoutCancel(h.ctx), h.id)
	if err == nil || errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("lease %s is not released, and ends by itself in %s: %w", short(h.id), inSeconds(time.Until(h.deadline)), err)
}
