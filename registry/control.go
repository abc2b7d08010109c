// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"

	"github.com/spangate/spangate/internal/plan"
)

func init() { plan.Attach = attach }

// control is the [plan.Control] of a registry.
type control struct {
	r       *Registry
	members []*member // that attach registered
	observe func(plan.Generation)
}

var _ plan.Control = (*control)(nil)

// attach is [plan.Attach].
func attach(registry any, add []plan.Registration, observe func(plan.Generation)) (plan.Control, plan.Generation, error) {
	r := registry.(*Registry)
	var members []*member
	for _, a := range add {
		m, err := newMember(a.Catalog, a.Gate, a.Options.([]RegisterOption))
		if err != nil {
			return nil, nil, err
		}
		members = append(members, m)
	}
	old := r.begin()
	var controlled error
	if r.control != nil {
		controlled = plan.ErrControlled
	}
	next, err := r.register(old, members, controlled)
	if err != nil {
		r.mu.Unlock()
		return nil, nil, err
	}
	if len(members) > 0 {
		r.publish(next)
	}
	r.control = &control{r, members, observe}
	return r.control, r.load(), nil
}

func (c *control) Begin() (plan.Generation, bool) {
	old := c.r.begin()
	if c.r.control != c {
		c.End()
		return nil, false
	}
	return old, true
}

func (c *control) Commit(p plan.Plan, by plan.Cause) plan.Generation {
	old := c.r.load()
	in := intent{kind: byPlan, plan: p}
	switch old.intent.kind {
	case byPin:
		in = old.intent // a pin stays in force: the plan is dropped
	case bySpec:
		// A plan that replaces a plan, as leases come and go, does not report again the
		// names that are still pending.
		c.r.reports.newIntent()
	}
	next := old.next(old.vocabulary, in, by)
	c.r.publish(next)
	return next
}

func (c *control) Records() []func() {
	var records []func()
	for next := c.r.reports.take(); next != nil; next = c.r.reports.take() {
		records = append(records, func() { next(cmp.Or(c.r.logger, slog.Default())) })
	}
	return records
}

func (c *control) Release() {
	c.r.control = nil
	old := c.r.load()
	members, gone := slices.Clone(old.vocabulary.members), ""
	members = slices.DeleteFunc(members, func(m *member) bool {
		ours := slices.Contains(c.members, m)
		if ours {
			gone += m.namespace() + " unregistered; "
		}
		return ours
	})
	if gone != "" {
		c.r.publish(old.next(newVocabulary(members), old.intent, namespaceChange(strings.TrimSuffix(gone, "; "))))
	}
}

// End does not log: a timer may call it, where a panic of the logger would end the process.
func (c *control) End() { c.r.mu.Unlock() }
