// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

func TestStateShowsTheRootsThatAreOff(t *testing.T) {
	var seen atomic.Uint64 // the groups of Gym that begin traces, as a provider sees them
	var f *fixture
	f = newFixture(t, control.StartupBaseline(baseline("agent")), control.Roots(func(gate *spangate.Gate) spangate.Mask {
		if gate != &f.gate {
			return 0
		}
		return spangate.Mask(seen.Load())
	}))
	f.addDB(t)
	handler := control.Handler(f.Controller)
	served := func() []string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		var state wire.State
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &state))
		return state.Roots
	}
	expect := func(roots ...string) {
		t.Helper()
		assert.Equal(t, append([]string{}, roots...), f.State().Roots)
		assert.Equal(t, append([]string{}, roots...), served())
	}
	expect()
	seen.Store(uint64(spangate.BitServer | spangate.BitAgent))
	expect("server") // agent is on, and no new generation was made
	conditional := func() int {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("If-None-Match", `"`+f.State().Generation+`"`)
		handler.ServeHTTP(w, r)
		return w.Code
	}
	assert.Equal(t, 200, conditional(), "roots are new, though the generation is the same")
	require.NoError(t, f.SetBaseline(baseline("agent,server")))
	assert.Equal(t, 304, conditional())
	expect()
	require.NoError(t, f.SetBaseline(baseline("")))
	expect("agent", "server")
	seen.Store(0)
	assert.Equal(t, 200, conditional(), "a State of this generation had roots")
}

func TestStateAndRootsAreOfOneGeneration(t *testing.T) {
	var change func()
	f := newFixture(t, control.StartupBaseline(baseline("job")), control.Roots(func(*spangate.Gate) spangate.Mask {
		if change != nil {
			next := change
			change = nil
			next()
		}
		return spangate.BitServer
	}))
	e := newEndpoint(t, f)
	change = func() { require.NoError(t, f.SetBaseline(baseline("server"))) }
	s := as[wire.State](e.do("GET", "/", ""), 200)
	assert.Equal(t, []string{"server"}, s.Enabled)
	assert.Empty(t, s.Roots, "server is on")
	change = func() { require.NoError(t, f.registry.Unregister("nemo_gym")) }
	assert.Empty(t, as[wire.State](e.do("GET", "/", ""), 200).Roots, "server is not registered")
}

func TestStateHasNoRootsWithoutTheOption(t *testing.T) {
	for _, opts := range [][]control.Option{nil, {control.Roots(nil)}} {
		f := newFixture(t, opts...)
		assert.Equal(t, []string{}, f.State().Roots)
	}
}

func TestRootsAreNamedOncePerGroup(t *testing.T) {
	var gates [2]spangate.Gate
	r := registry.New()
	require.NoError(t, r.Register(spangate.Gym, &gates[0]))
	require.NoError(t, r.Register(spangate.Lens, &gates[1], registry.Shared()))
	c, err := control.New(r, control.Roots(func(gate *spangate.Gate) spangate.Mask {
		if gate == &gates[0] {
			return spangate.BitServer | spangate.BitJob | 1<<40 // which has no name
		}
		return spangate.BitJob
	}))
	require.NoError(t, err)
	assert.Equal(t, []string{"job", "server"}, c.State().Roots)
	require.NoError(t, c.Close())
}
