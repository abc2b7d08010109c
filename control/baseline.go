// SPDX-License-Identifier: Apache-2.0

package control

import "cmp"

// Baseline is the spec that is on while no lease says otherwise. Get one from [FromEnv] or
// [Config], or write it down. The zero value has everything off. It is a value and may be
// copied.
type Baseline struct {
	// Spec selects groups, as in default,sandbox: at most [spangate.MaxSpecLen] bytes.
	Spec string
	// AllowPending keeps names that are not registered until they are. Only
	// [Controller.SetBaseline] reads it; elsewhere they are always kept.
	AllowPending bool
	// Who set it: a line of text, at most [MaxOwnerLen] bytes. An empty one is "program".
	Who string
	// Why it was set: a line of text, at most [MaxWhyLen] bytes. It may be empty.
	Why string
}

// Configure makes b the baseline, and the one that [Controller.ResetBaseline] goes back to. It is
// for what a program reads from its configuration, and may be called repeatedly.
//
// It is lenient: names may be pending whatever b says. The error is a [*spangate.ParseError] for
// a spec longer than [spangate.MaxSpecLen], or an [*Error] for [ErrSpec], [ErrOwner], [ErrWhy] or
// [ErrClosed].
func (c *Controller) Configure(b Baseline) error {
	b.AllowPending = true
	return c.setBaseline(author{}, b, nil, true)
}

// SetBaseline makes b the baseline until the next one. It is for a request at run time.
//
// It is strict unless b allows pending names: a name that is not registered is a
// [*spangate.ParseError], since success would hide that it enables nothing. Its other
// errors are those of Configure. Leases stay.
func (c *Controller) SetBaseline(b Baseline) error { return c.setBaseline(author{}, b, nil, false) }

// setBaseline is SetBaseline or, if startup, Configure. It allows the names in listed to be
// pending.
func (c *Controller) setBaseline(by author, b Baseline, listed map[string]bool, startup bool) error {
	b.Who = cmp.Or(by.who, b.Who, by.address, program)
	if err := cmp.Or(checkAuthor("who", b.Who, b.Why), dropListed(c.checkSpec(b.Spec, b.AllowPending), listed)); err != nil {
		return err
	}
	t, err := c.begin(by)
	if err != nil {
		return err
	}
	defer t.end()
	t.intent.baseline = b
	if startup {
		t.intent.startup = b
	}
	t.commit(KindBaseline, b.Who, b.Why)
	return nil
}

// checkSpec returns an error unless spec is allowed. It is called without the lock, since the
// search for suggestions may be slow; a name that is unregistered between the check and the change
// is pending, as it would be if it were unregistered after the change.
func (c *Controller) checkSpec(spec string, allowPending bool) error {
	if err := c.usable(); err != nil {
		return err
	}
	if allowPending {
		return checkText(spec)
	}
	return c.view.Load().Check(spec)
}

// ResetBaseline goes back to the baseline of the last [Controller.Configure], or else of
// [StartupBaseline]. who and why are for the change log. Leases stay. The error is an [*Error]
// for [ErrOwner], [ErrWhy] or [ErrClosed].
func (c *Controller) ResetBaseline(who, why string) error {
	return c.resetBaseline(author{who: who}, why)
}

func (c *Controller) resetBaseline(by author, why string) error {
	if err := checkAuthor("who", by.who, why); err != nil {
		return err
	}
	t, err := c.begin(by)
	if err != nil {
		return err
	}
	defer t.end()
	t.intent.baseline = t.intent.startup
	t.commit(KindBaseline, cmp.Or(by.who, by.address, program), cmp.Or(why, "back to the start-up baseline"))
	return nil
}

// Limits restricts what baseline and leases can turn on. The zero value sets no limit.
type Limits struct {
	// Deny is as in the option [Deny].
	Deny string
	// Ceiling is as in the option [Ceiling].
	Ceiling string
	// Who sets the limits, and why, as in [Baseline].
	Who, Why string
}

// SetLimits replaces the limits in force by l. It is lenient as Configure is, and has its
// errors.
func (c *Controller) SetLimits(l Limits) error {
	if err := cmp.Or(checkAuthor("who", l.Who, l.Why), checkText(l.Deny), checkText(l.Ceiling)); err != nil {
		return err
	}
	t, err := c.begin(author{})
	if err != nil {
		return err
	}
	defer t.end()
	t.intent.deny, t.intent.ceiling = l.Deny, nonBlank(l.Ceiling)
	t.commit(KindLimits, cmp.Or(l.Who, program), l.Why)
	return nil
}
