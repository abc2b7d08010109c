// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

func (p *program) lease() *cobra.Command {
	return p.leasing("adds", func(want *wire.LeaseRequest) *string { return &want.Spec }, &cobra.Command{
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
	return p.leasing("quiets", func(want *wire.LeaseRequest) *string { return &want.Quiet }, &cobra.Command{
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

// leasing returns cmd as a command that requests a lease. The command's argument goes into the
// field of the request that field returns; does is the verb for messages, "adds" or "quiets".
func (p *program) leasing(does string, field func(*wire.LeaseRequest) *string, cmd *cobra.Command) *cobra.Command {
	var t target
	var when condition
	var want wire.LeaseRequest
	var ttl time.Duration
	var wait bool
	cmd.Args = oneSpec
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		*field(&want) = args[0]
		want.Owner = cmp.Or(want.Owner, me())
		want.TTL = ttl.String()
		if err := cmp.Or(when.check(), checkText("the spec", args[0]), checkSelects(args[0], does), checkText("--owner", want.Owner), checkText("--why", want.Why), checkFor(ttl)); err != nil {
			return err
		}
		client, err := t.client()
		if err != nil {
			return err
		}
		// Not in the context that a signal ends: a lease that is granted meanwhile must not be
		// left behind.
		l, err := client.Lease(context.WithoutCancel(cmd.Context()), want, when.generation)
		if err != nil {
			return online(err, args[0])
		}
		out := p.out
		if out.closed {
			out = p.err
		}
		showLease(out, l, t.asJSON)
		if !wait {
			if err := cmp.Or(out.err, cmd.Context().Err()); err != nil {
				return newHolder(client, l).giveBack(err)
			}
			return nil
		}
		if err := p.hold(cmd.Context(), out, newHolder(client, l)); err != nil {
			return err
		}
		if !t.asJSON {
			showEnd(out, &l.Lease)
		}
		return nil
	}
	t.flags(cmd, "the lease")
	when.flag(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&ttl, "for", 0, "how long, as in 5m or 1h30m")
	flags.StringVar(&want.Owner, "owner", "", "whose lease it is (default: yours)")
	flags.StringVar(&want.Why, "why", "", "the reason, which get and the process's log show")
	flags.BoolVar(&want.AllowPending, "allow-pending", false, "keep names that are not registered until they are")
	flags.BoolVar(&wait, "wait", false, "stay until the lease ends, and end it on Ctrl-C")
	completeDuration(cmd)
	cmd.ValidArgsFunction = completeSpec(t.completions)
	return cmd
}

func (p *program) extend() *cobra.Command {
	var t target
	var when condition
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:     "extend ID --for DURATION",
		Short:   "Let a lease live longer, or shorter, from now on",
		Example: `  spangate extend k7gq2w4xnb3ma --for 10m`,
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(when.check(), checkFor(ttl)); err != nil {
				return err
			}
			client, err := t.client()
			if err != nil {
				return err
			}
			l, err := client.Renew(cmd.Context(), args[0], ttl, when.generation)
			if err != nil {
				return err
			}
			showLease(p.out, l, t.asJSON)
			return nil
		},
		ValidArgsFunction: t.completeID,
	}
	t.flags(cmd, "the lease")
	when.flag(cmd)
	cmd.Flags().DurationVar(&ttl, "for", 0, "how long from now on, as in 10m")
	completeDuration(cmd)
	return cmd
}

func (p *program) release() *cobra.Command {
	var t target
	var when condition
	cmd := &cobra.Command{
		Use:   "release ID",
		Short: "End a lease now",
		Args:  oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := when.check(); err != nil {
				return err
			}
			client, err := t.client()
			if err != nil {
				return err
			}
			l, err := client.Release(cmd.Context(), args[0], when.generation)
			if err != nil {
				return err
			}
			if t.asJSON {
				p.out.json(l.JSON)
				return nil
			}
			showEnd(p.out, &l.Lease)
			return nil
		},
		ValidArgsFunction: t.completeID,
	}
	t.flags(cmd, "the lease that ended")
	when.flag(cmd)
	return cmd
}

func (p *program) leases() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:               "leases",
		Short:             "Show the live leases, the first to end first",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := t.client()
			if err != nil {
				return err
			}
			state, err := client.Get(cmd.Context(), "")
			switch {
			case err != nil:
				return err
			case t.asJSON:
				p.out.json(append([]wire.Lease{}, state.Leases...))
			case len(state.Leases) == 0:
				p.out.printf("There is no lease.\n")
			default:
				drawLeases(p.out, state.Leases)
			}
			return nil
		},
	}
	t.flags(cmd, "the leases")
	return cmd
}

// showLease says what was granted.
func showLease(s *screen, l *endpoint.Lease, asJSON bool) {
	if asJSON {
		s.json(l.JSON)
		return
	}
	rows := [][]string{
		{"lease", caret.Short(l.ID)},
		{"owner", caret.Short(l.Owner)},
	}
	if l.Spec != "" {
		rows = append(rows, []string{"spec", caret.Short(l.Spec)}, []string{"groups", shownList(l.Groups, "none")})
	}
	if len(l.Withheld) > 0 {
		rows = append(rows, []string{"withheld", shownList(l.Withheld, "") + ", which the process keeps off"})
	}
	if l.Quiet != "" {
		rows = append(rows, []string{"quiets", caret.Short(l.Quiet)}, []string{"quieted", shownList(l.Quieted, "none")})
		if len(l.StillOn) > 0 {
			rows = append(rows, []string{"still on", amber.Render(shownList(l.StillOn, "")) + ", because a lease adds them"})
		}
	}
	if len(l.Pending) > 0 {
		rows = append(rows, []string{"pending", shownList(l.Pending, "")})
	}
	s.table(nil, append(rows, []string{"ends", "in " + left(l.Lease)}))
}

func showEnd(s *screen, l *wire.Lease) {
	s.printf("lease %s of %s on %s has ended\n", caret.Short(l.ID), caret.Short(l.Owner), subject(l))
}

// subject says what a lease is on: a spec, or what it quiets.
func subject(l *wire.Lease) string {
	switch {
	case l.Quiet == "":
		return orQuoted(caret.Short(l.Spec))
	case l.Spec == "":
		return "quiet " + caret.Short(l.Quiet)
	}
	return caret.Short(l.Spec) + ", quiet " + caret.Short(l.Quiet)
}

// checkSelects returns an error if text selects nothing in any process, so that a lease with it
// could do nothing. Whether it selects something there, only the process can check.
func checkSelects(text, does string) error {
	selects := false
	for e := range spec.Entries(text) {
		if e.Exclude && strings.EqualFold(e.Name, spangate.NameAll) {
			return usagef("a lease that %s %q would do nothing, since -all takes everything away; name a group", does, shorten(text))
		}
		selects = selects || !e.Exclude
	}
	if !selects {
		return usagef("a lease that %s %q would do nothing; name a group, as in %s", does, shorten(text), exampleSpec)
	}
	return nil
}

func checkFor(ttl time.Duration) error {
	if ttl <= 0 {
		return usagef("how long? Give --for, as in --for 5m")
	}
	return nil
}

func completeDuration(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions( // fails for a flag that there is not
		[]cobra.Completion{"1m", "5m", "30m", "1h"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
}
