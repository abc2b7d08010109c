// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/registry"
)

// attach makes observe the observer of r, and returns the control.
func attach(t testing.TB, r *registry.Registry, observe func(plan.Generation)) plan.Control {
	t.Helper()
	c, now, err := plan.Attach(r, nil, observe)
	require.NoError(t, err)
	require.Equal(t, r.State().Generation(), now.Number())
	c.End()
	return c
}

func ignore(plan.Generation) {}

// end ends a change of c, and logs its records.
func end(c plan.Control) {
	records := c.Records()
	c.End()
	for _, log := range records {
		log()
	}
}

// commit makes one change of c.
func commit(t testing.TB, c plan.Control, p plan.Plan, by plan.Cause) {
	t.Helper()
	_, ok := c.Begin()
	require.True(t, ok, "it has been released")
	defer end(c)
	c.Commit(p, by)
}

// setPlan sets a plan, in one change, and leaves r without a control.
func setPlan(t testing.TB, r *registry.Registry, p plan.Plan) {
	t.Helper()
	c, _, err := plan.Attach(r, nil, ignore)
	require.NoError(t, err)
	defer end(c)
	c.Commit(p, plan.Cause{})
	c.Release()
}

// planned reports whether a plan is in force in r, and not a spec or pin.
func planned(t testing.TB, r *registry.Registry) bool {
	t.Helper()
	c, now, err := plan.Attach(r, nil, ignore)
	require.NoError(t, err)
	defer c.End()
	c.Release()
	return now.Planned()
}

func TestPlanResolvesEachSpecByItself(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	setPlan(t, r, plan.Plan{Specs: []string{"default,-job", "sandbox", "all,-all", "-server"}})
	require.Equal(t, "server,http_client,rollout,sandbox", lib.names(), "a group that one spec excludes, another may turn on")

	setPlan(t, r, plan.Plan{Specs: []string{"all"}, Deny: "default,-server", Ceiling: "per_rollout"})
	require.Equal(t, "server,verify,agent,model_call", lib.names())

	setPlan(t, r, plan.Plan{Specs: []string{"all"}, Ceiling: "-all"})
	require.Empty(t, lib.names())

	setPlan(t, r, plan.Plan{})
	require.Empty(t, lib.names())
	require.True(t, planned(t, r))
}

func TestQuietTakesAwayFromTheBaselineOnly(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	setPlan(t, r, plan.Plan{Baseline: "default", Quiet: []string{"server,verify", "rollout"}})
	require.Equal(t, "job,http_client", lib.names())

	setPlan(t, r, plan.Plan{Baseline: "default", Quiet: []string{"server,verify", "rollout"}, Specs: []string{"server,verify"}})
	require.Equal(t, "job,server,http_client,verify", lib.names(), "Quiet takes nothing from Specs")

	setPlan(t, r, plan.Plan{Baseline: "default", Quiet: []string{"all,-job", "-all"}})
	require.Equal(t, "job", lib.names(), "each is resolved by itself")

	setPlan(t, r, plan.Plan{Baseline: "default", Quiet: []string{"all"}, Specs: []string{"job,step"}, Deny: "step", Ceiling: "job,step,server"})
	require.Equal(t, "job", lib.names())

	setPlan(t, r, plan.Plan{Specs: []string{"step"}, Quiet: []string{"step"}})
	require.Equal(t, "step", lib.names())
}

func TestQuietNameIsPendingUntilItsOwnerRegisters(t *testing.T) {
	r := registry.New()
	setPlan(t, r, plan.Plan{Baseline: "tx,query,late", Quiet: []string{"query,later"}})
	require.Equal(t, []string{"late", "later", "query", "tx"}, r.Pending())
	lib := mylib(t).add(t, r)
	require.Equal(t, "tx", lib.names())
	require.Equal(t, []string{"late", "later"}, r.Pending())
}

func TestPlanHoldsForNamespacesThatRegisterLater(t *testing.T) {
	r := registry.New()
	setPlan(t, r, plan.Plan{Specs: []string{"tx", "all"}, Deny: "query,sandbox"})
	require.Equal(t, []string{"query", "sandbox", "tx"}, r.Pending(), "the names of Deny too")
	lib := mylib(t).add(t, r)
	require.Equal(t, "tx", lib.names())
	require.Equal(t, []string{"sandbox"}, r.Pending())

	r.SetSpec("query")
	require.Equal(t, "query", lib.names(), "a spec drops the plan")
	require.False(t, planned(t, r))
	require.NoError(t, r.Pin())
	require.False(t, planned(t, r))
}

func TestPlanIgnoresSpecsThatAreTooLong(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	long := strings.Repeat("all,", spangate.MaxSpecLen/4) + "x"
	setPlan(t, r, plan.Plan{Specs: []string{long, "job"}})
	require.Equal(t, "job", lib.names())
	require.Equal(t, []string{long[:256] + "…"}, r.Pending())
}

func TestPlanAfterPlanRepeatsNoWarning(t *testing.T) {
	r, rec := recorded()
	gym().add(t, r)
	setPlan(t, r, plan.Plan{Specs: []string{"job,layer"}, Deny: "sandbox"})
	got := rec.one(t, "these names are not registered")
	require.Equal(t, []string{"layer"}, got["pending"])
	require.Equal(t, []string{"job,layer"}, got["plan.specs"])
	require.Equal(t, "sandbox", got["plan.deny"])

	setPlan(t, r, plan.Plan{Specs: []string{"job,layer", "all"}})
	setPlan(t, r, plan.Plan{Specs: []string{"job,layer"}})
	rec.none(t)
	setPlan(t, r, plan.Plan{Specs: []string{"job,layer,nope"}})
	rec.one(t, "these names are not registered")
	setPlan(t, r, plan.Plan{Specs: []string{"-all", ""}})
	rec.none(t)
}

func TestStateIsImmutable(t *testing.T) {
	var zero registry.State
	require.Equal(t, registry.New().Groups(), zero.Groups())
	require.Equal(t, registry.New().State().Generation(), zero.Generation())
	require.Error(t, zero.Check("job"))

	r := registry.New()
	gym().add(t, r)
	r.SetSpec("job")
	s := r.State()
	mylib(t).add(t, r)
	require.NoError(t, r.Unregister("nemo_gym"))
	require.Equal(t, []string{"nemo_gym"}, s.Namespaces())
	require.Equal(t, []string{"job"}, s.Enabled())
	require.NoError(t, s.Check("sandbox"))
	require.Error(t, r.State().Check("sandbox"))
	require.Less(t, s.Generation(), r.State().Generation())
}

func TestCheckReportsOffsetAndSuggestion(t *testing.T) {
	r := registry.New()
	gym().add(t, r)
	mylib(t).add(t, r)
	s := r.State()
	require.NoError(t, s.Check(" Default , -TX,,all,"))

	var err *spangate.ParseError
	require.ErrorAs(t, s.Check("job, rollouts,-quary,zzz"), &err)
	require.ErrorIs(t, err, spangate.ErrUnknownName)
	require.Equal(t, []spangate.UnknownName{{Name: "rollouts", Offset: 5, Suggestion: "rollout"}, {Name: "quary", Offset: 15, Suggestion: "query"}, {Name: "zzz", Offset: 21}}, err.Unknown)
	require.Equal(t, []string{"all", "default", "per_rollout", "agent"}, err.Valid[:4])
	require.Contains(t, err.Error(), `did you mean "rollout"?`)
	require.Contains(t, err.Error(), "valid names are all, default")
	require.Empty(t, err.Namespace)

	require.ErrorIs(t, s.Check(strings.Repeat(",", spangate.MaxSpecLen+1)), spangate.ErrSpecTooLong)
	require.NoError(t, s.Check(strings.Repeat(",", spangate.MaxSpecLen)))
}

func TestFirstSixtyFourUnknownNamesHaveASuggestion(t *testing.T) {
	r := registry.New()
	gym().add(t, r)
	text := strings.Repeat("rollouts,", 70)
	_, parseErr := spangate.Parse(text)
	for _, err := range []error{r.State().Check(text), parseErr} {
		var refused *spangate.ParseError
		require.ErrorAs(t, err, &refused)
		require.Len(t, refused.Unknown, 70)
		for i, u := range refused.Unknown {
			require.Equal(t, i < 64, u.Suggestion == "rollout", i)
			require.Equal(t, 9*i, u.Offset)
		}
	}
}

func TestMembersAreTheNamespacesWithCatalogAndGate(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	lens := new(spangate.Gate)
	require.NoError(t, r.Register(spangate.Lens, lens, registry.Preset("mine", "job")))
	db := mylib(t).add(t, r)
	c, now, err := plan.Attach(r, nil, ignore)
	require.NoError(t, err)
	defer c.End()
	require.Equal(t, []plan.Member{{Catalog: db.catalog, Gate: db.gate}, {Catalog: spangate.Gym, Gate: lib.gate}, {Catalog: spangate.Lens, Gate: lens}}, now.Members())
}

// A plan costs in proportion to its distinct specs, which are few in practice.
func BenchmarkUpdateOfPlanWithSpecs(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := registry.New(registry.Logger(slog.New(slog.DiscardHandler)))
			gym().add(b, r)
			p := plan.Plan{}
			for i := range n {
				p.Specs = append(p.Specs, spangate.Gym.Format(spangate.Mask(i)))
			}
			for b.Loop() {
				setPlan(b, r, p)
			}
		})
	}
}
