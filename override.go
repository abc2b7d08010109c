// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"context"
	"time"
)

// An Override has groups on for one trace, beside those that are on for all. It is in the context
// of what belongs to the trace, where [Gate.OnContext] and package otelgate find it. It can turn
// on the groups of a gate's [Gate.Reach] and no others, and turns nothing off.
//
// An Override is immutable and safe for concurrent use. Nil and the zero value turn nothing on.
type Override struct {
	name OverrideName
	on   func(*Gate, Mask) bool
}

// OverrideName is what identifies an override in every process that its trace passes. A spec and
// not a mask: each process resolves it with the groups that it has.
type OverrideName struct {
	// Spec selects the groups.
	Spec string
	// ID is the same for all that belongs to one override.
	ID string
	// End is when the override ends; the zero time is never.
	End time.Time
}

// NewOverride returns an override that turns groups on as on decides: it reports whether at least
// one group of a mask of a gate is on, and is asked once for each site or span whose groups are off
// for all, with those of them that the gate's reach holds, never none. What ends or limits an override does so in on.
// [Override.Sample] asks on with a nil gate and no groups; once on has refused that, it should refuse it
// for good, since a span that is sampled beneath one that was not lacks its parent.
//
// on must be safe for concurrent use, must not block, and must not start spans. With a nil on, the
// override turns nothing on.
func NewOverride(name OverrideName, on func(g *Gate, m Mask) bool) *Override {
	return &Override{name, on}
}

// Name returns the name that the override was made with; of nil, the zero value.
func (o *Override) Name() OverrideName {
	if o == nil {
		return OverrideName{}
	}
	return o.name
}

// On reports whether the override turns on at least one group of m of g. It is false for groups
// that the reach of g does not hold, and where [Compiled] is false. Each call counts as a site: a
// limit on the override may use it up.
func (o *Override) On(g *Gate, m Mask) bool {
	if !Compiled || o == nil || o.on == nil {
		return false
	}
	m &= g.Reach()
	return m != 0 && o.on(g, m)
}

// Sample reports whether a span of the override's trace is to be sampled although the sampler drops it.
// It is for samplers, as that of package otelsdk. It is false where [Compiled] is false. Each call
// counts as a site, as those of [Override.On] do.
func (o *Override) Sample() bool {
	return Compiled && o != nil && o.on != nil && o.on(nil, 0)
}

type overrideKey struct{}

// ContextWithOverride returns ctx with the override o, in place of the one that ctx has. With a nil
// o there is none. A nil ctx counts as [context.Background].
func ContextWithOverride(ctx context.Context, o *Override) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	return context.WithValue(ctx, overrideKey{}, o)
}

// OverrideFromContext returns the override of ctx, or nil if there is none. A nil ctx has none.
func OverrideFromContext(ctx context.Context) *Override {
	if ctx == nil {
		return nil
	}
	o, _ := ctx.Value(overrideKey{}).(*Override)
	return o
}
