// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// TestMain discards the default logger's records. Tests of records pass a logger.
func TestMain(m *testing.M) {
	if path := os.Getenv(rewriterEnv); path != "" {
		rewrite(path)
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

// mydb is the catalog of a second library.
var mydb = spangate.MustCatalog("mydb", []spangate.Group{
	{Name: "query", Bit: 1 << 0, Doc: "one query, with its text"},
	{Name: "tx", Bit: 1 << 63, Doc: "one transaction"},
}, []spangate.Preset{{Name: "default", Mask: 1 << 63, Doc: "transactions"}})

// fixture is a controller over a registry that has Gym.
type fixture struct {
	*control.Controller
	registry *registry.Registry
	gate     spangate.Gate
	changes  changes
}

func newFixture(t testing.TB, opts ...control.Option) *fixture {
	t.Helper()
	f := &fixture{registry: registry.New()}
	require.NoError(t, f.registry.Register(spangate.Gym, &f.gate))
	c, err := control.New(f.registry, append([]control.Option{control.OnChange(f.changes.add)}, opts...)...)
	require.NoError(t, err)
	f.Controller = c
	f.changes.drain = func() {
		t.Helper()
		require.True(t, control.Drain(c, 10*time.Second), "the change log is stuck")
	}
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	f.changes.take()
	return f
}

// on returns the canonical spec of the gate's word.
func (f *fixture) on() string { return spangate.Gym.Format(f.gate.Load()) }

// addDB registers mydb, and returns its gate.
func (f *fixture) addDB(t testing.TB) *spangate.Gate {
	t.Helper()
	gate := new(spangate.Gate)
	require.NoError(t, f.registry.Register(mydb, gate))
	return gate
}

// changes keeps the changes that a callback is called with.
type changes struct {
	drain func() // waits for the change log
	mu    sync.Mutex
	list  []control.Change
}

func (c *changes) add(change control.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, change)
}

// take returns the changes made since the last take. A callback must not call it.
func (c *changes) take() []control.Change {
	c.drain()
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// one returns the one change made since the last take.
func (c *changes) one(t testing.TB) control.Change {
	t.Helper()
	list := c.take()
	require.Len(t, list, 1)
	return list[0]
}

func baseline(spec string) control.Baseline { return control.Baseline{Spec: spec, Who: "test"} }

// tooLong is a spec that is longer than any that is read.
var tooLong = strings.Repeat("all,", spangate.MaxSpecLen/4) + "x"
