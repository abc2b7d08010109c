// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

// plan sets a plan, in one change, and leaves r without a Control.
func plan(t testing.TB, r *registry.Registry, p registry.Plan) {
	t.Helper()
	c, err := r.Control(nil, nil)
	require.NoError(t, err)
	require.NoError(t, c.Release(planned(p)))
}

// planned returns p to an Update.
func planned(p registry.Plan) func(registry.State) (registry.Plan, any, error) {
	return func(registry.State) (registry.Plan, any, error) { return p, nil, nil }
}

func TestEachSpecOfAPlanStandsForItself(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	plan(t, r, registry.Plan{Specs: []string{"default,-job", "sandbox", "all,-all", "-server"}})
	require.Equal(t, "server,http_client,rollout,sandbox", lib.names(), "what one excludes another may have on")

	plan(t, r, registry.Plan{Specs: []string{"all"}, Deny: "default,-server", Ceiling: "per_rollout"})
	require.Equal(t, "server,verify,agent,model_call", lib.names())

	plan(t, r, registry.Plan{Specs: []string{"all"}, Ceiling: "-all"})
	require.Empty(t, lib.names())

	plan(t, r, registry.Plan{})
	require.Empty(t, lib.names())
	require.True(t, r.State().Planned())
}

func TestQuietTakesAwayFromTheBaselineOnly(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	plan(t, r, registry.Plan{Baseline: "default", Quiet: []string{"server,verify", "rollout"}})
	require.Equal(t, "job,http_client", lib.names())

	plan(t, r, registry.Plan{Baseline: "default", Quiet: []string{"server,verify", "rollout"}, Specs: []string{"server,verify"}})
	require.Equal(t, "job,server,http_client,verify", lib.names(), "what a spec adds is not quiet")

	plan(t, r, registry.Plan{Baseline: "default", Quiet: []string{"all,-job", "-all"}})
	require.Equal(t, "job", lib.names(), "each is resolved by itself")

	plan(t, r, registry.Plan{Baseline: "default", Quiet: []string{"all"}, Specs: []string{"job,step"}, Deny: "step", Ceiling: "job,step,server"})
	require.Equal(t, "job", lib.names())

	plan(t, r, registry.Plan{Specs: []string{"step"}, Quiet: []string{"step"}})
	require.Equal(t, "step", lib.names())
}

func TestQuietNameIsPendingUntilItsOwnerRegisters(t *testing.T) {
	r := registry.New()
	plan(t, r, registry.Plan{Baseline: "tx,query,late", Quiet: []string{"query,later"}})
	require.Equal(t, []string{"late", "later", "query", "tx"}, r.Pending())
	lib := mylib(t).add(t, r)
	require.Equal(t, "tx", lib.names())
	require.Equal(t, []string{"late", "later"}, r.Pending())
}

func TestPlanHoldsForANamespaceThatComesLater(t *testing.T) {
	r := registry.New()
	plan(t, r, registry.Plan{Specs: []string{"tx", "all"}, Deny: "query,sandbox"})
	require.Equal(t, []string{"query", "sandbox", "tx"}, r.Pending(), "the names of Deny too")
	lib := mylib(t).add(t, r)
	require.Equal(t, "tx", lib.names())
	require.Equal(t, []string{"sandbox"}, r.Pending())

	r.SetSpec("query")
	require.Equal(t, "query", lib.names(), "a spec drops the plan")
	require.False(t, r.State().Planned())
	require.NoError(t, r.Pin())
	require.False(t, r.State().Planned())
}

func TestPlanHasSpecsThatAreTooLongLeftOut(t *testing.T) {
	r := registry.New()
	lib := gym().add(t, r)
	long := strings.Repeat("all,", spangate.MaxSpecLen/4) + "x"
	plan(t, r, registry.Plan{Specs: []string{long, "job"}})
	require.Equal(t, "job", lib.names())
	require.Equal(t, []string{long[:256] + "…"}, r.Pending())
}

func TestPlanThatFollowsOnAPlanRepeatsNoWarning(t *testing.T) {
	r, rec := recorded()
	gym().add(t, r)
	plan(t, r, registry.Plan{Specs: []string{"job,layer"}, Deny: "sandbox"})
	got := rec.one(t, "these names are not registered")
	require.Equal(t, []string{"layer"}, got["pending"])
	require.Equal(t, []string{"job,layer"}, got["plan.specs"])
	require.Equal(t, "sandbox", got["plan.deny"])

	plan(t, r, registry.Plan{Specs: []string{"job,layer", "all"}})
	plan(t, r, registry.Plan{Specs: []string{"job,layer"}})
	rec.none(t)
	plan(t, r, registry.Plan{Specs: []string{"job,layer,nope"}})
	rec.one(t, "these names are not registered")
	plan(t, r, registry.Plan{Specs: []string{"-all", ""}})
	rec.none(t)
}

func TestStateStaysAsItWas(t *testing.T) {
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

func TestCheckSaysWhereAndWhatWasMeant(t *testing.T) {
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
	require.Contains(t, err.Error(), "this process has all, default")

	require.ErrorIs(t, s.Check(strings.Repeat(",", spangate.MaxSpecLen+1)), spangate.ErrSpecTooLong)
	require.NoError(t, s.Check(strings.Repeat(",", spangate.MaxSpecLen)))
}

func TestMembersOfASharedNameAreEachNamespaces(t *testing.T) {
	r := registry.New()
	gym().add(t, r)
	require.NoError(t, r.Register(spangate.Lens, new(spangate.Gate), registry.Preset("mine", "job")))
	require.Equal(t, []registry.Member{
		{Namespace: "nemo_gym", Bit: spangate.BitJob, Doc: "the whole job, from start to exit"},
		{Namespace: "nemo_lens", Bit: spangate.BitJob, Doc: "the whole job, from start to exit"},
	}, r.State().GroupMembers()["job"])
	presets := r.State().PresetMembers()
	require.Len(t, presets["default"], 2)
	require.Equal(t, "what happens a few times in a job", presets["default"][1].Doc)
	require.Equal(t, []registry.Member{{Namespace: "nemo_lens"}}, presets["mine"])
	require.NotContains(t, presets, "all")
}

// A party that comes or goes costs in proportion to the distinct specs, which with the
// parties of a fleet are few.
func BenchmarkUpdateOfPlanWithSpecs(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := registry.New(registry.Logger(slog.New(slog.DiscardHandler)))
			gym().add(b, r)
			p := registry.Plan{}
			for i := range n {
				p.Specs = append(p.Specs, spangate.Gym.Format(spangate.Mask(i)))
			}
			for b.Loop() {
				plan(b, r, p)
			}
		})
	}
}
