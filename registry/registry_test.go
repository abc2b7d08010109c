// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

// mylib has query and tx, and default is tx.
func mylib(t require.TestingT) library {
	return newLibrary(t, "mylib", []string{"query", "tx"}, map[string][]string{"default": {"tx"}})
}

func gym() library { return library{spangate.Gym, new(spangate.Gate)} }

func TestZeroRegistryIsReadyAndEmpty(t *testing.T) {
	for name, r := range map[string]*registry.Registry{"zero": new(registry.Registry), "new": registry.New(), "nil logger": registry.New(registry.Logger(nil))} {
		t.Run(name, func(t *testing.T) {
			requireAsModel(t, newModel(), r, nil)
			enabled, pending := r.Resolve("all,default")
			require.Equal(t, []string{}, enabled)
			require.Equal(t, []string{"default"}, pending)

			require.NoError(t, r.Pin())
			require.ErrorIs(t, r.Unregister("mylib"), registry.ErrNamespaceUnknown)
			l := mylib(t).add(t, r)
			r.SetSpec("all")
			require.Equal(t, "tx,query", l.names())
		})
	}
}

func TestDefaultIsOneEmptyRegistry(t *testing.T) {
	require.Same(t, registry.Default(), registry.Default())
	require.Empty(t, registry.Default().Namespaces())
}

func TestRegisterSetsTheGateToWhatIsOn(t *testing.T) {
	r := registry.New()
	r.SetSpec("tx")
	l := mylib(t)
	l.gate.Store(^spangate.Mask(0)) // the word before the registration does not matter
	l.add(t, r)
	require.Equal(t, "tx", l.names())
}

func TestWordStoredByOtherCodeLastsUntilTheNextChange(t *testing.T) {
	r := registry.New()
	l := mylib(t).add(t, r)
	r.SetSpec("tx")
	l.gate.Store(0)
	r.SetSpec("tx")
	require.Equal(t, "tx", l.names())
}

func TestRefusedCallsReturnSentinelsAndChangeNothing(t *testing.T) {
	long := strings.Repeat("x", spangate.MaxNameLen+1)
	taken := new(spangate.Gate)
	register := func(namespace string, g *spangate.Gate, opts ...registry.RegisterOption) func(*registry.Registry) error {
		c := spangate.MustCatalog(namespace, []spangate.Group{{Name: "query", Bit: 1}, {Name: "other", Bit: 2}}, nil)
		return func(r *registry.Registry) error { return r.Register(c, g, opts...) }
	}
	free := func() *spangate.Gate { return new(spangate.Gate) }

	for name, tt := range map[string]struct {
		do   func(*registry.Registry) error
		want error
		text string // what the message must contain, besides the prefix
	}{
		"nil catalog":         {func(r *registry.Registry) error { return r.Register(nil, free()) }, registry.ErrNilCatalog, "spangate.NewCatalog"},
		"nil everything":      {func(r *registry.Registry) error { return r.Register(nil, nil) }, registry.ErrNilCatalog, ""},
		"nil gate":            {register("x", nil), registry.ErrNilGate, `register "x"`},
		"zero catalog":        {func(r *registry.Registry) error { return r.Register(new(spangate.Catalog), free()) }, registry.ErrEmptyNamespace, ""},
		"namespace taken":     {register("mylib", free()), registry.ErrNamespaceTaken, "Override()"},
		"taken by itself":     {register("mylib", taken), registry.ErrNamespaceTaken, `register "mylib"`},
		"gate taken":          {register("x", taken), registry.ErrGateTaken, `"mylib"`},
		"gate taken override": {register("x", taken, registry.Override()), registry.ErrGateTaken, ""},
		"taken before preset": {register("mylib", free(), registry.Preset("all")), registry.ErrNamespaceTaken, ""},
		"preset without name": {register("x", free(), registry.Preset(" \t", "query")), registry.ErrEmptyName, ""},
		"preset called all":   {register("x", free(), registry.Preset(" ALL\u0085", "query")), registry.ErrReservedName, `" ALL\u0085"`},
		"preset with a comma": {register("x", free(), registry.Preset("a,b", "query")), spangate.ErrInvalidName, `"a,b"`},
		"preset with a dash":  {register("x", free(), registry.Preset("-a", "query")), spangate.ErrInvalidName, ""},
		"preset too long":     {register("x", free(), registry.Preset(long, "query")), spangate.ErrInvalidName, ""},
		"preset like a group": {register("x", free(), registry.Preset("Query", "other")), spangate.ErrDuplicateName, ""},
		"second preset":       {register("x", free(), registry.Preset("fine", "query"), registry.Preset("")), registry.ErrEmptyName, ""},
		"override, bad":       {register("mylib", free(), registry.Override(), registry.Preset("all")), registry.ErrReservedName, ""},

		"unregister unknown": {func(r *registry.Registry) error { return r.Unregister("other") }, registry.ErrNamespaceUnknown, `unregister "other"`},
		"unregister empty":   {func(r *registry.Registry) error { return r.Unregister(" ") }, registry.ErrEmptyNamespace, ""},
		"unregister group":   {func(r *registry.Registry) error { return r.Unregister("query") }, registry.ErrNamespaceUnknown, ""},

		"pin empty":      {func(r *registry.Registry) error { return r.Pin("query", "") }, registry.ErrEmptyName, ""},
		"pin all":        {func(r *registry.Registry) error { return r.Pin("All") }, registry.ErrReservedName, `pin: "All"`},
		"pin a spec":     {func(r *registry.Registry) error { return r.Pin("query,tx") }, spangate.ErrInvalidName, `"query,tx"`},
		"pin exclusion":  {func(r *registry.Registry) error { return r.Pin("-query") }, spangate.ErrInvalidName, ""},
		"pin long":       {func(r *registry.Registry) error { return r.Pin(strings.Repeat("y", 1<<20)) }, spangate.ErrInvalidName, "…"},
		"pin non-ASCII":  {func(r *registry.Registry) error { return r.Pin("que\x00ry", "\xff") }, spangate.ErrInvalidName, ""},
		"pin long s":     {func(r *registry.Registry) error { return r.Pin("ſtep") }, spangate.ErrInvalidName, `"ſtep"`},
		"pin just space": {func(r *registry.Registry) error { return r.Pin("\u00a0") }, registry.ErrEmptyName, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New()
			l := mylib(t)
			l.gate = taken
			l.add(t, r, registry.Preset("borrowed", "query", "sandbox"))
			r.SetSpec("borrowed,late")
			groups, presets := r.Groups(), r.Presets()

			err := tt.do(r)
			require.ErrorIs(t, err, tt.want)
			var refused *registry.Error
			require.True(t, errors.As(err, &refused))
			assert.True(t, strings.HasPrefix(err.Error(), "spangate/registry: "), err)
			assert.Contains(t, err.Error(), tt.text)
			assert.Less(t, len(err.Error()), 1000, "a message repeats only the beginning of a long name")

			assert.Equal(t, groups, r.Groups())
			assert.Equal(t, presets, r.Presets())
			assert.Equal(t, []string{"mylib"}, r.Namespaces())
			assert.Equal(t, []string{"query"}, r.Enabled())
			assert.Equal(t, []string{"late"}, r.Pending())
			assert.Equal(t, "query", l.names())
			require.NoError(t, r.Unregister("mylib"))
		})
	}
}

func TestNamesGivenToTheRegistryAreTrimmedAndFolded(t *testing.T) {
	r := registry.New()
	l := mylib(t).add(t, r, registry.Preset(" Quiet\u2003", "\tQUERY", "  ", "query"))
	require.Equal(t, []string{"query"}, r.Presets()["quiet"])
	require.Empty(t, r.SetSpec("\u0085qUIET\x1c"))
	require.Equal(t, "query", l.names())
	require.NoError(t, r.Pin(" TX "))
	require.Equal(t, "tx", l.names())
	require.NoError(t, r.Unregister(" MyLib\n"))
	require.Empty(t, r.Namespaces())
}

func TestPendingIsFoldedAsPythonDoes(t *testing.T) {
	r := registry.New()
	gym().add(t, r)
	for spec, want := range map[string][]string{
		"Nope, nope ,NOPE":      {"nope"},
		"\u212aob,kob":          {"kob"},  // KELVIN SIGN
		"chec\u212apoint":       {},       // is checkpoint
		"ſtep":                  {"ſtep"}, // LONG S is not s
		"\ufeffjob,job\u200b":   {"job\u200b", "\ufeffjob"},
		"SERVER_ÄÖ":             {"server_äö"},
		"V\u0130,vi":            {"vi", "vi\u0307"}, // İ keeps its dot, and is not i
		"-late,-job":            {"late"},           // an exclusion can be pending as well
		"- job":                 {" job"},           // the name begins right after the dash
		"job,-":                 {""},
		"--job":                 {"-job"},
		strings.Repeat("L", 70): {strings.Repeat("l", 70)},
		"\xffA":                 {"\ufffda"},
		"z,a,Z,m":               {"a", "m", "z"},
	} {
		_, pending := r.Resolve(spec)
		assert.Equal(t, want, pending, "%q", spec)
		assert.Equal(t, want, r.SetSpec(spec), "%q", spec)
		assert.Equal(t, want, r.Pending(), "%q", spec)
	}
}

func TestSpecTooLongTurnsNothingOnAndIsNotKept(t *testing.T) {
	r := registry.New()
	l := mylib(t).add(t, r)
	r.SetSpec("all")
	spec := strings.Repeat("tx,", spangate.MaxSpecLen/3) + "tx"
	want := []string{spec[:256] + "…"}

	enabled, pending := r.Resolve(spec)
	require.Equal(t, []string{}, enabled)
	require.Equal(t, want, pending)
	require.Equal(t, "tx,query", l.names(), "Resolve changes nothing")

	require.Equal(t, want, r.SetSpec(spec))
	require.Zero(t, l.gate.Load())
	require.Equal(t, want, r.Pending())

	r.SetSpec(spec[:spangate.MaxSpecLen])
	require.Equal(t, "tx", l.names(), "a spec of exactly the limit is read")
}

func TestOverrideReplacesAllGroupsAndPresets(t *testing.T) {
	r := registry.New()
	old := mylib(t).add(t, r, registry.Preset("quiet", "query", "fetch"))
	r.SetSpec("default,quiet,tx")
	require.Equal(t, "tx,query", old.names())

	now := newLibrary(t, "mylib", []string{"fetch", "tx"}, nil)
	now.add(t, r, registry.Override())
	require.Equal(t, "tx", now.names())
	require.Zero(t, old.gate.Load(), "the replaced gate")
	require.Equal(t, []string{"fetch", "tx"}, r.Groups())
	require.Equal(t, map[string][]string{"all": {"fetch", "tx"}}, r.Presets())
	require.Equal(t, []string{"default", "quiet"}, r.Pending())

	// The replaced gate is free, so another namespace may have it.
	require.NoError(t, r.Register(newLibrary(t, "other", []string{"x"}, nil).catalog, old.gate))
}

func TestOverrideMayKeepTheGate(t *testing.T) {
	r := registry.New()
	old := mylib(t).add(t, r)
	r.SetSpec("all")
	now := newLibrary(t, "mylib", []string{"fetch"}, nil)
	now.gate = old.gate
	now.add(t, r, registry.Override())
	require.Equal(t, "fetch", now.names())
}

func TestOverrideWithoutOldNamespaceRegisters(t *testing.T) {
	r := registry.New()
	mylib(t).add(t, r, registry.Override())
	require.Equal(t, []string{"mylib"}, r.Namespaces())
}

func TestPinHoldsWhenNamespacesRegister(t *testing.T) {
	r := registry.New()
	l := mylib(t).add(t, r)
	r.SetSpec("all,late")

	require.NoError(t, r.Pin())
	require.Zero(t, l.gate.Load())
	require.Empty(t, r.Pending(), "the spec is dropped")
	g := gym().add(t, r)
	newLibrary(t, "x", []string{"late"}, nil).add(t, r)
	require.Empty(t, r.Enabled())

	require.NoError(t, r.Pin("tx", "step", "tx", "nope"))
	require.Equal(t, []string{"nope"}, r.Pending())
	l2 := newLibrary(t, "mylib", []string{"tx", "more"}, map[string][]string{"step2": {"more"}}).add(t, r, registry.Override())
	require.Zero(t, l.gate.Load())
	require.Equal(t, "tx", l2.names())
	require.Equal(t, "step", g.names())
	require.NoError(t, r.Unregister("mylib"))
	require.Equal(t, []string{"step"}, r.Enabled())

	r.SetSpec("job")
	require.Equal(t, []string{"job"}, r.Enabled())
}

func TestSharedGroupGoesOnInEveryNamespaceThatHasIt(t *testing.T) {
	r := registry.New()
	a := newLibrary(t, "a", []string{"step", "only_a"}, nil).add(t, r)
	b := newLibrary(t, "b", []string{"x", "y", "step"}, nil).add(t, r)
	r.SetSpec("step")
	require.Equal(t, "step", a.names())
	require.Equal(t, "step", b.names())
	require.NoError(t, r.Unregister("a"))
	require.Zero(t, a.gate.Load())
	require.Equal(t, "step", b.names())
}

func TestPresetMembersOfOtherNamespacesComeAndGo(t *testing.T) {
	r := registry.New()
	r.SetSpec("slow")
	newLibrary(t, "a", []string{"x"}, nil).add(t, r, registry.Preset("slow", "query", "x"))
	require.Equal(t, []string{"x"}, r.Enabled())
	require.Empty(t, r.Pending(), "the preset is registered, though not all its members are")
	for range 2 {
		l := mylib(t).add(t, r)
		require.Equal(t, "query", l.names())
		require.Equal(t, []string{"query", "x"}, r.Presets()["slow"])
		require.NoError(t, r.Unregister("mylib"))
		require.Zero(t, l.gate.Load())
		require.Equal(t, []string{"x"}, r.Presets()["slow"])
	}
	require.NoError(t, r.Unregister("a"))
	mylib(t).add(t, r)
	require.Empty(t, r.Enabled())
	require.Equal(t, []string{"slow"}, r.Pending())
}

func TestPresetGivenTwiceHoldsAllMembers(t *testing.T) {
	r := registry.New()
	mylib(t).add(t, r, registry.Preset("default", "query"), registry.Preset("p", "tx"), registry.Preset("P", "query"))
	require.Equal(t, map[string][]string{"all": {"query", "tx"}, "default": {"query", "tx"}, "p": {"query", "tx"}}, r.Presets())
}

func TestNameOfGroupAndPresetMeansBoth(t *testing.T) {
	for _, groupFirst := range []bool{true, false} {
		r := registry.New()
		group := newLibrary(t, "a", []string{"io"}, nil)
		preset := newLibrary(t, "b", []string{"read", "write", "sync"}, map[string][]string{"io": {"read", "write"}})
		if groupFirst {
			group.add(t, r)
			preset.add(t, r)
		} else {
			preset.add(t, r)
			group.add(t, r)
		}
		r.SetSpec("io")
		require.Equal(t, []string{"io", "read", "write"}, r.Enabled())
		r.SetSpec("all,-IO")
		require.Equal(t, []string{"sync"}, r.Enabled())
		require.NoError(t, r.Pin("io"), "a pin selects groups only")
		require.Equal(t, []string{"io"}, r.Enabled())
	}
}

func TestReturnedValuesBelongToTheCaller(t *testing.T) {
	r := registry.New()
	mylib(t).add(t, r)
	members := []string{"query"}
	p := registry.Preset("p", members...)
	members[0] = "overwritten"
	newLibrary(t, "x", []string{"y"}, nil).add(t, r, p)
	r.SetSpec("tx,late")
	overwrite := func(names []string) { names[0] = "overwritten" }
	overwrite(r.SetSpec("tx,late"))
	overwrite(r.Groups())
	overwrite(r.Namespaces())
	overwrite(r.Enabled())
	overwrite(r.Pending())
	overwrite(r.Presets()["all"])
	delete(r.Presets(), "default")

	require.Equal(t, []string{"query", "tx", "y"}, r.Groups())
	require.Equal(t, []string{"mylib", "x"}, r.Namespaces())
	require.Equal(t, []string{"tx"}, r.Enabled())
	require.Equal(t, []string{"late"}, r.Pending())
	require.Equal(t, map[string][]string{"all": {"query", "tx", "y"}, "default": {"tx"}, "p": {"query"}}, r.Presets())
}

func TestRegistriesWithOneCatalogAreIndependent(t *testing.T) {
	l1, l2 := gym(), gym()
	r1, r2 := registry.New(), registry.New()
	l1.add(t, r1)
	l2.add(t, r2)
	r1.SetSpec("job")
	require.Equal(t, "job", l1.names())
	require.Zero(t, l2.gate.Load())
}
