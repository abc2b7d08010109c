// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// Baseline is a spec, with who asks for it and why. The zero value has everything off. Get
// one from [FromEnv], from [Config], or write it down: its fields are Spec, AllowPending, Who
// and Why, those of [wire.Baseline]. An empty Who is the program itself.
type Baseline = wire.Baseline

// Configure makes b the baseline, and the one that [Controller.ResetBaseline] goes back to:
// for what a program reads from its configuration, again and again if need be.
//
// It is lenient, since configuration is often shared by processes that know other names: a
// name that is not registered is kept until it is, whatever b says of pending names. Text that
// can't be a name is [ErrSpec]. The error is a [*spangate.ParseError] for a spec longer than
// [spangate.MaxSpecLen], or an [*Error] for [ErrSpec], [ErrOwner], [ErrWhy] or [ErrClosed].
func (c *Controller) Configure(b Baseline) error {
	return c.configure(b, func() error { return nil })
}

// configure is Configure if permit, which is asked in the midst of it, has no error.
func (c *Controller) configure(b Baseline, permit func() error) error {
	b = configured(b)
	if err := cmp.Or(checkNames(b.Who, b.Why), checkText(b.Spec)); err != nil {
		return err
	}
	return c.update(author{}, func(time.Time) (cause, error) {
		if err := permit(); err != nil {
			return cause{}, err
		}
		c.wanted.baseline, c.wanted.startup = b, b
		return cause{wire.KindBaseline, b.Who, b.Why}, nil
	})
}

// SetBaseline makes b the baseline until the next one: for what a person asks for.
//
// It is strict unless b allows pending names: a name that is not registered is a
// [*spangate.ParseError], since enabling nothing in silence looks just like success. It
// fails as Configure does besides. Leases live on.
func (c *Controller) SetBaseline(b Baseline) error { return c.setBaseline(author{}, b, nil) }

// setBaseline is SetBaseline, but allows the names in listed to be pending.
func (c *Controller) setBaseline(by author, b Baseline, listed map[string]bool) error {
	b.Who = cmp.Or(by.who, b.Who, program)
	if err := cmp.Or(checkNames(b.Who, b.Why), allowing(c.checkSpec(b.Spec, b.AllowPending), listed)); err != nil {
		return err
	}
	return c.update(by, func(time.Time) (cause, error) {
		c.wanted.baseline = b
		return cause{wire.KindBaseline, b.Who, b.Why}, nil
	})
}

// ResetBaseline goes back to the baseline that configuration gave: [Start], or the last
// [Controller.Configure]. who and why are for the change log. Leases live on. It fails as
// Configure does.
func (c *Controller) ResetBaseline(who, why string) error {
	return c.resetBaseline(author{who: who}, why)
}

func (c *Controller) resetBaseline(by author, why string) error {
	if err := checkNames(by.who, why); err != nil {
		return err
	}
	return c.update(by, func(time.Time) (cause, error) {
		c.wanted.baseline = c.wanted.startup
		return cause{wire.KindBaseline, cmp.Or(by.who, program), cmp.Or(why, "back to the start-up baseline")}, nil
	})
}

// Limits is what no baseline and no lease goes beyond. The zero value sets no limit.
type Limits struct {
	// Deny is as in the option [Deny].
	Deny string
	// Ceiling is as in the option [Ceiling].
	Ceiling string
	// Who sets the limits, and why. An empty Who is the program itself.
	Who, Why string
}

// SetLimits puts l in place of the limits in force. It is lenient and fails as Configure is
// and does.
func (c *Controller) SetLimits(l Limits) error {
	if err := cmp.Or(checkNames(l.Who, l.Why), checkText(l.Deny), checkText(l.Ceiling)); err != nil {
		return err
	}
	return c.update(author{}, func(time.Time) (cause, error) {
		c.wanted.deny, c.wanted.ceiling = l.Deny, nonBlank(l.Ceiling)
		return cause{wire.KindLimits, cmp.Or(l.Who, program), l.Why}, nil
	})
}

// configured returns b as configuration: somebody's, and with names that may be pending.
func configured(b Baseline) Baseline {
	b.Who = cmp.Or(b.Who, program)
	b.AllowPending = true
	return b
}

// checkSpec returns an error unless spec may be asked for. It is asked before the change and
// not in the midst of it, since to look for suggestions may take a while; a name whose owner
// leaves in between is pending, as it would be if they left a moment later.
func (c *Controller) checkSpec(spec string, allowPending bool) error {
	if err := c.usable(); err != nil {
		return err
	}
	if allowPending {
		return checkText(spec)
	}
	return c.registry.State().Check(spec)
}
