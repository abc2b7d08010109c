// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// overrideOf returns an override that turns on the groups of m, on every gate.
func overrideOf(m spangate.Mask) *spangate.Override {
	return spangate.NewOverride(spangate.OverrideName{ID: "test"}, func(_ *spangate.Gate, asked spangate.Mask) bool { return asked.HasAny(m) })
}

func TestOnContextIsOnOrAnOverrideWithinTheReach(t *testing.T) {
	var g spangate.Gate
	for on := range spangate.Mask(8) {
		for reach := range spangate.Mask(8) {
			g.Store(on)
			g.SetReach(reach)
			require.Equal(t, reach, g.Reach())
			for overridden := range spangate.Mask(8) {
				ctx := spangate.ContextWithOverride(t.Context(), overrideOf(overridden))
				for m := range spangate.Mask(8) {
					want := spangate.Compiled && m.HasAny(on|reach&overridden)
					require.Equal(t, want, g.OnContext(ctx, m), "%v: on %v, reach %v, override %v", m, on, reach, overridden)
					require.Equal(t, g.On(m), g.OnContext(t.Context(), m))
				}
			}
		}
	}
}

// An override may count the sites that it turns on, so it must not be asked about others.
func TestOverrideIsAskedOncePerSiteThatItMayTurnOn(t *testing.T) {
	if !spangate.Compiled {
		return // nothing is asked
	}
	g := spangate.NewGate(0b0001)
	g.SetReach(0b0110)
	var asked []spangate.Mask
	ctx := spangate.ContextWithOverride(t.Context(), spangate.NewOverride(spangate.OverrideName{}, func(gate *spangate.Gate, m spangate.Mask) bool {
		assert.Same(t, g, gate)
		asked = append(asked, m)
		return false
	}))
	g.OnContext(ctx, 0b0001)
	g.OnContext(ctx, 0b0111)
	g.OnContext(ctx, 0b1000)
	g.OnContext(ctx, 0)
	assert.Empty(t, asked)
	g.OnContext(ctx, 0b0010)
	g.OnContext(ctx, 0b1110)
	assert.Equal(t, []spangate.Mask{0b0010, 0b0110}, asked)
}

func TestNilOverrideAndNilContextTurnNothingOn(t *testing.T) {
	var g spangate.Gate
	g.SetReach(^spangate.Mask(0))
	var none context.Context
	var o *spangate.Override
	assert.False(t, g.OnContext(none, 1))
	assert.Nil(t, spangate.OverrideFromContext(none))
	assert.False(t, o.On(&g, 1))
	assert.Zero(t, o.Name())
	for _, o := range []*spangate.Override{nil, new(spangate.Override), spangate.NewOverride(spangate.OverrideName{}, nil)} {
		ctx := spangate.ContextWithOverride(none, o)
		assert.Same(t, o, spangate.OverrideFromContext(ctx))
		assert.False(t, g.OnContext(ctx, 1))
		assert.False(t, o.Sample())
	}
	ctx := spangate.ContextWithOverride(t.Context(), overrideOf(1))
	assert.False(t, g.OnContext(spangate.ContextWithOverride(ctx, nil), 1), "nil hides the override above")
	assert.Equal(t, spangate.Compiled, g.OnContext(ctx, 1))
}

func TestSampleAsksForNoGroups(t *testing.T) {
	for _, want := range []bool{true, false} {
		asked := false
		o := spangate.NewOverride(spangate.OverrideName{}, func(g *spangate.Gate, m spangate.Mask) bool {
			asked = true
			assert.Nil(t, g)
			assert.Zero(t, m)
			return want
		})
		assert.Equal(t, spangate.Compiled && want, o.Sample())
		assert.Equal(t, spangate.Compiled, asked)
	}
}

func TestOverrideKeepsItsName(t *testing.T) {
	name := spangate.OverrideName{Spec: "all", ID: "a1", End: time.Unix(1, 0)}
	assert.Equal(t, name, spangate.NewOverride(name, nil).Name())
}
