// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
	"github.com/spangate/spangate/control/wire"
)

func (p *program) lease() *cobra.Command {
	var t target
	var when condition
	var want wire.LeaseRequest
	var ttl time.Duration
	var wait bool
	cmd := &cobra.Command{
		Use:   "lease SPEC --for DURATION",
		Short: "Turn on what a spec selects, for a limited time",
		Long: `Lease adds SPEC to what is on, for a limited time: then it goes back by itself, and takes
nothing with it that somebody else has asked for.

With --wait the command stays until the lease ends, and ends it on Ctrl-C or SIGTERM. It
does not renew it. If it is killed, the lease still ends in time.`,
		Example: `  spangate lease all --for 5m --owner me
  spangate lease sandbox --for 1h --wait`,
		Args: oneSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			want.Spec = args[0]
			want.Owner = cmp.Or(want.Owner, me())
			want.TTL = ttl.String()
			if err := cmp.Or(when.check(), checkText("the spec", want.Spec), checkText("--owner", want.Owner), checkText("--why", want.Why), checkFor(ttl)); err != nil {
				return err
			}
			client, err := t.client()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if wait {
				// A lease that is granted while a signal comes must not be left behind.
				ctx = context.WithoutCancel(ctx)
			}
			l, err := client.Lease(ctx, want, when.generation)
			if err != nil {
				return online(err, want.Spec)
			}
			p.showLease(l, t.asJSON)
			if !wait {
				return nil
			}
			if err := p.hold(cmd.Context(), client, l); err != nil {
				return err
			}
			if !t.asJSON {
				p.showEnd(&l.Lease)
			}
			return nil
		},
	}
	t.flags(cmd, "the lease")
	when.flag(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&ttl, "for", 0, "how long, as in 5m or 1h30m")
	flags.StringVar(&want.Owner, "owner", "", "whose lease it is (default: yours)")
	flags.StringVar(&want.Why, "why", "", "the reason, for whoever wonders")
	flags.BoolVar(&want.AllowPending, "allow-pending", false, "keep names that nobody has registered until somebody does")
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
			p.showLease(l, t.asJSON)
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
			p.showEnd(&l.Lease)
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
func (p *program) showLease(l *endpoint.Lease, asJSON bool) {
	if asJSON {
		p.out.json(l.JSON)
		return
	}
	rows := [][]string{
		{"lease", caret.Shown(l.ID)},
		{"owner", caret.Shown(l.Owner)},
		{"spec", orQuoted(caret.Shown(l.Spec))},
		{"groups", list(shownAll(l.Groups), "none")},
	}
	if len(l.Withheld) > 0 {
		rows = append(rows, []string{"withheld", shownList(l.Withheld) + ", which the process keeps off"})
	}
	if len(l.Pending) > 0 {
		rows = append(rows, []string{"pending", shownList(l.Pending)})
	}
	p.out.table(nil, append(rows, []string{"ends", "in " + left(l.Lease)}))
}

func (p *program) showEnd(l *wire.Lease) {
	p.out.printf("lease %s of %s on %s has ended\n", caret.Shown(l.ID), caret.Shown(l.Owner), orQuoted(caret.Shown(l.Spec)))
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
