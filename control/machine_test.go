// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// modelLease is a lease of the model.
type modelLease struct {
	spec, quiet string
	end         time.Time
}

// model is a naive controller that computes everything on every read. Of the code under test it uses
// only Catalog.Resolve.
type model struct {
	base, startup, deny, ceiling string
	leases                       map[string]modelLease
	withDB                       bool
}

// selects returns what a spec selects of each namespace.
func (m *model) selects(spec string) (gym, db spangate.Mask) {
	gym, _ = spangate.Gym.Resolve(spec)
	if m.withDB {
		// The preset default is both namespaces', and so is all.
		db, _ = mydb.Resolve(spec)
	}
	return gym, db
}

// canHaveEffect reports whether spec selects a group, or has a name that may be registered later
// and that it does not exclude.
func (m *model) canHaveEffect(spec string) bool {
	if gym, db := m.selects(spec); gym != 0 || db != 0 {
		return true
	}
	entries := strings.Split(spec, ",")
	return slices.ContainsFunc(entries, func(name string) bool {
		return !m.withDB && (name == "query" || name == "tx") && !slices.Contains(entries, "-"+name) && !slices.Contains(entries, "-all")
	})
}

func (m *model) on() (gym, db spangate.Mask) {
	gym, db = m.selects(m.base)
	for _, l := range m.leases {
		g, d := m.selects(l.quiet)
		gym, db = gym&^g, db&^d
	}
	for _, l := range m.leases {
		g, d := m.selects(l.spec)
		gym, db = gym|g, db|d
	}
	g, d := m.selects(m.deny)
	gym, db = gym&^g, db&^d
	if m.ceiling != "" {
		g, d := m.selects(m.ceiling)
		gym, db = gym&g, db&d
	}
	return gym, db
}

func (m *model) expire() {
	for id, l := range m.leases {
		if !time.Now().Before(l.end) {
			delete(m.leases, id)
		}
	}
}

// noDeadline hides a test's Deadline, which must not be called in a bubble.
type noDeadline struct{ testing.TB }

func TestControllerMatchesTheModel(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{"job", "step", "server", "sandbox", "verify", "query", "tx", "default", "per_rollout", "all", ""}).Draw(t, "name")
		return rapid.SampledFrom([]string{"", "", "", "-"}).Draw(t, "sign") + name
	})
	spec := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(entry, 0, 4).Draw(t, "entries"), ",")
		return strings.ReplaceAll(strings.Trim(s, "-"), "-,", ",") // a '-' alone is no name
	})
	ttl := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(1, 8).Draw(t, "seconds")) * time.Second
	})

	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(t *rapid.T) {
			r := registry.New()
			var gym, db spangate.Gate
			require.NoError(t, r.Register(spangate.Gym, &gym))
			start := spec.Draw(t, "start")
			c, err := control.New(r, control.StartupBaseline(baseline(start)), control.MaxLeases(6))
			require.NoError(t, err)
			m := &model{base: start, startup: start, leases: map[string]modelLease{}}
			handles := map[string]control.Lease{}
			anyID := func(t *rapid.T) string {
				ids := []string{"unknown"}
				for id := range handles {
					ids = append(ids, id)
				}
				slices.Sort(ids) // rapid can't repeat the order of a map
				return ids[rapid.IntRange(0, len(ids)-1).Draw(t, "id")]
			}

			t.Repeat(map[string]func(*rapid.T){
				"lease": func(t *rapid.T) {
					req := control.LeaseRequest{Owner: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "owner"), Spec: spec.Draw(t, "spec"), Quiet: spec.Draw(t, "quiet"), TTL: ttl.Draw(t, "ttl"), AllowPending: true}
					l, err := c.Lease(req)
					if !m.canHaveEffect(req.Spec) && !m.canHaveEffect(req.Quiet) {
						require.ErrorIs(t, err, control.ErrNoEffect)
						return
					}
					if len(m.leases) == 6 {
						require.ErrorIs(t, err, control.ErrTooManyLeases)
						return
					}
					require.NoError(t, err)
					m.leases[l.ID()] = modelLease{req.Spec, req.Quiet, time.Now().Add(req.TTL)}
					handles[l.ID()] = l
				},
				"renew": func(t *rapid.T) {
					id, d := anyID(t), ttl.Draw(t, "ttl")
					l, live := m.leases[id]
					if err := c.Renew(id, d); !live {
						require.ErrorIs(t, err, control.ErrNoLease)
						return
					}
					l.end = time.Now().Add(d)
					m.leases[id] = l
				},
				"release": func(t *rapid.T) {
					id := anyID(t)
					_, live := m.leases[id]
					err := c.Release(id)
					require.Equal(t, live, err == nil)
					delete(m.leases, id)
				},
				"time passes": func(t *rapid.T) {
					sleep(ttl.Draw(t, "time") / 2)
					m.expire()
				},
				"baseline": func(t *rapid.T) {
					m.base = spec.Draw(t, "spec")
					require.NoError(t, c.SetBaseline(control.Baseline{Spec: m.base, AllowPending: true}))
				},
				"configuration": func(t *rapid.T) {
					m.base = spec.Draw(t, "spec")
					m.startup = m.base
					require.NoError(t, c.Configure(baseline(m.base)))
				},
				"reset": func(t *rapid.T) {
					m.base = m.startup
					require.NoError(t, c.ResetBaseline("", ""))
				},
				"limits": func(t *rapid.T) {
					m.deny, m.ceiling = spec.Draw(t, "deny"), spec.Draw(t, "ceiling")
					require.NoError(t, c.SetLimits(control.Limits{Deny: m.deny, Ceiling: m.ceiling}))
				},
				"database comes or goes": func(t *rapid.T) {
					if m.withDB = !m.withDB; m.withDB {
						require.NoError(t, r.Register(mydb, &db))
					} else {
						require.NoError(t, r.Unregister("mydb"))
					}
				},
				"": func(t *rapid.T) {
					wantGym, wantDB := m.on()
					require.Equal(t, spangate.Gym.Format(wantGym), spangate.Gym.Format(gym.Load()))
					require.Equal(t, wantDB, db.Load())
					s := c.State()
					require.Equal(t, m.base, s.Baseline.Spec)
					require.Equal(t, m.startup, s.Startup.Spec)
					require.Len(t, s.Leases, len(m.leases))
					for _, l := range s.Leases {
						require.Equal(t, m.leases[l.ID].spec, l.Spec)
						require.Equal(t, m.leases[l.ID].quiet, l.Quiet)
						require.Equal(t, m.leases[l.ID].end.UTC().Truncate(time.Millisecond), l.End)
						require.Equal(t, time.Until(m.leases[l.ID].end), l.Left)
					}
					for _, g := range s.Groups {
						base, _ := r.Resolve(m.base)
						require.Equal(t, slices.Contains(base, g.Name), g.Baseline)
						require.Equal(t, g.On, (g.Baseline && len(g.Quiet) == 0 || len(g.Leases) > 0) && !g.Withheld, g.Name)
						require.Equal(t, slices.Contains(s.Enabled, g.Name), g.On)
						require.False(t, g.Overridden)
					}
				},
			})

			require.NoError(t, c.Close())
			m.leases = nil
			wantGym, _ := m.on()
			require.Equal(t, spangate.Gym.Format(wantGym), spangate.Gym.Format(gym.Load()))
		})
	})
}
