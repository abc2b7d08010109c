// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// Change is one entry of the change log: what was on, what is on, who changed it and why.
// Its fields are those of [wire.Change].
type Change = wire.Change

// cause is what a change is put down to.
type cause struct{ kind, who, why string }

// maxChanges is how many changes State shows. Each names all that is on, twice.
const maxChanges = 20

// see is called in every change of the registry, by whomever, with its lock held.
func (c *Controller) see(old, now registry.State) (after func()) {
	why := c.cause
	if c.cause = nil; why == nil {
		why = fromOutside(old, now)
	}
	change := Change{
		Generation: c.tag(now.Generation()),
		Time:       time.Now().UTC().Truncate(time.Millisecond),
		Kind:       why.kind, Who: why.who, Why: why.why,
		Old: old.Enabled(), New: now.Enabled(),
	}
	recent := c.view.Load().changes
	recent = recent[:min(len(recent), maxChanges-1)]
	c.view.Store(&view{
		state: now, wanted: c.wanted, enabled: change.New,
		changes: slices.Concat([]Change{change}, recent),
	})
	return func() { c.tell(change) }
}

// fromOutside is the cause of a change that c did not make.
func fromOutside(old, now registry.State) *cause {
	var news []string
	before, after := old.Namespaces(), now.Namespaces()
	for _, namespace := range minus(after, before) {
		news = append(news, namespace+" registered")
	}
	for _, namespace := range minus(before, after) {
		news = append(news, namespace+" unregistered")
	}
	switch {
	case news == nil && !now.Planned():
		return &cause{wire.KindRegistry, "registry", "SetSpec or Pin was called on the registry itself"}
	case news == nil:
		news = []string{"a namespace was replaced"}
	}
	return &cause{wire.KindNamespaces, "registry", strings.Join(news, ", ")}
}

// tell tells everybody of a change, with no lock held.
func (c *Controller) tell(change Change) {
	ctx := context.Background()
	c.logger().LogAttrs(ctx, slog.LevelInfo, "spangate: spans changed",
		slog.String("generation", change.Generation), slog.String("kind", change.Kind),
		slog.String("who", change.Who), slog.String("why", change.Why),
		slog.Any("old", change.Old), slog.Any("new", change.New))
	c.metrics.count(ctx, change)
	for _, fn := range c.options.onChange {
		fn(clone(change))
	}
}

func (c *Controller) logger() *slog.Logger { return cmp.Or(c.options.logger, slog.Default()) }

// clone returns change with slices of its own.
func clone(change Change) Change {
	change.Old, change.New = slices.Clone(change.Old), slices.Clone(change.New)
	return change
}

// minus returns what is in a and not in b, both sorted.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool {
		_, found := slices.BinarySearch(b, name)
		return found
	})
}
