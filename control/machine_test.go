// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"context"
	"encoding/binary"
	"math"
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
	spec, quiet, value string // value is that of the field f, of a detail
	share              float64
	end                time.Time
}

func (l modelLease) detail() bool { return l.value != "" || l.share > 0 }

// modelOverride is an override that a controller has made.
type modelOverride struct {
	*spangate.Override
	matched []string // the leases that chose its trace
	end     time.Time
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
		if !l.detail() {
			g, d := m.selects(l.spec)
			gym, db = gym|g, db|d
		}
	}
	return m.limit(gym, db)
}

// reach returns what overrides may turn on.
func (m *model) reach() (gym, db spangate.Mask) {
	for _, l := range m.leases {
		if l.detail() {
			g, d := m.selects(l.spec)
			gym, db = gym|g, db|d
		}
	}
	return m.limit(gym, db)
}

// turnsOn returns what an override turns on.
func (m *model) turnsOn(o modelOverride) (gym, db spangate.Mask) {
	if !time.Now().Before(o.end) {
		return 0, 0
	}
	for id, l := range m.leases {
		if slices.Contains(o.matched, id) {
			g, d := m.selects(l.spec)
			gym, db = gym|g, db|d
		}
	}
	return m.limit(gym, db)
}

func (m *model) limit(gym, db spangate.Mask) (spangate.Mask, spangate.Mask) {
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
			c, err := control.New(r, control.StartupBaseline(baseline(start)), control.MaxLeases(6),
				control.OverrideBudget(control.Budget{SpansPerSecond: math.MaxInt32, SpansPerTrace: math.MaxInt32}))
			require.NoError(t, err)
			var overrides []modelOverride
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
					m.leases[l.ID()] = modelLease{spec: req.Spec, quiet: req.Quiet, end: time.Now().Add(req.TTL)}
					handles[l.ID()] = l
				},
				"detail": func(t *rapid.T) {
					want := modelLease{spec: spec.Draw(t, "spec")}
					req := control.LeaseRequest{Owner: "a", Spec: want.spec, TTL: ttl.Draw(t, "ttl"), AllowPending: true}
					if want.share = rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "share"); want.share == 0 {
						want.value = rapid.SampledFrom([]string{"1", "1", "2"}).Draw(t, "value")
						req.Match = " f = " + want.value + ",g=3"
					}
					req.Share, want.end = want.share, time.Now().Add(req.TTL)
					l, err := c.Lease(req)
					if !m.canHaveEffect(req.Spec) {
						require.ErrorIs(t, err, control.ErrNoEffect)
						return
					}
					if len(m.leases) == 6 {
						require.ErrorIs(t, err, control.ErrTooManyLeases)
						return
					}
					require.NoError(t, err)
					m.leases[l.ID()], handles[l.ID()] = want, l
				},
				"request": func(t *rapid.T) {
					fields := map[string]string{"f": rapid.SampledFrom([]string{"1", "1", "2", ""}).Draw(t, "f"), "g": rapid.SampledFrom([]string{"3", "3", "4"}).Draw(t, "g")}
					want := modelOverride{matched: []string{}, end: time.Now().Add(time.Hour)}
					for id, l := range m.leases {
						if l.value != "" && l.value == fields["f"] && fields["g"] == "3" {
							want.matched = append(want.matched, id)
							want.end = time.Now().Add(min(time.Until(want.end), time.Until(l.end)))
						}
					}
					want.Override = spangate.OverrideFromContext(c.Offer(context.Background(), func(field string) string { return fields[field] }))
					require.Equal(t, len(want.matched) > 0, want.Override != nil)
					if want.Override != nil {
						overrides = append(overrides, want)
					}
				},
				"trace": func(t *rapid.T) {
					var id [16]byte
					binary.BigEndian.PutUint64(id[8:], rapid.Uint64().Draw(t, "id"))
					want := modelOverride{Override: c.Begin(id, ""), end: time.Now().Add(time.Hour)}
					randomness := float64(binary.BigEndian.Uint64(id[8:])&(1<<56-1)) / (1 << 56)
					for id, l := range m.leases {
						if l.share > 0 && randomness >= 1-l.share {
							want.matched = append(want.matched, id)
						}
					}
					require.Equal(t, want.matched != nil, want.Override != nil)
					for _, o := range overrides {
						if o.Override == want.Override { // the trace had one, which keeps its leases
							want.matched = o.matched
						}
					}
					if want.Override != nil {
						want.end = want.Name().End
						require.False(t, want.end.After(time.Now().Add(time.Hour)))
						overrides = append(overrides, want)
					}
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
					wantGym, wantDB = m.reach()
					require.Equal(t, spangate.Gym.Format(wantGym), spangate.Gym.Format(gym.Reach()))
					require.Equal(t, wantDB, db.Reach())
					for _, o := range overrides {
						wantGym, wantDB = m.turnsOn(o)
						for bit := range (spangate.Gym.All() | 1<<63).Bits() {
							require.Equal(t, spangate.Compiled && wantGym&bit != 0, o.On(&gym, bit))
							require.Equal(t, spangate.Compiled && wantDB&bit != 0, o.On(&db, bit))
						}
					}
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
						for _, id := range g.Details {
							require.True(t, m.leases[id].detail())
						}
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
			require.Zero(t, gym.Reach()|db.Reach())
		})
	})
}
