// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/registry"
)

// recorder is a slog.Handler that keeps its records and calls onLog.
type recorder struct {
	mu      sync.Mutex
	records []record
	onLog   func(record) // called with no lock held
}

// record is a slog.Record with its attrs by key; those of a group by group.key.
type record struct {
	level   slog.Level
	message string
	attrs   map[string]any
}

func (rec *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (rec *recorder) WithAttrs([]slog.Attr) slog.Handler       { panic("not used") }
func (rec *recorder) WithGroup(string) slog.Handler            { panic("not used") }

func (rec *recorder) Handle(_ context.Context, r slog.Record) error {
	got := record{level: r.Level, message: r.Message, attrs: map[string]any{}}
	var add func(prefix string, a slog.Attr)
	add = func(prefix string, a slog.Attr) {
		if a.Value.Kind() == slog.KindGroup {
			for _, b := range a.Value.Group() {
				add(prefix+a.Key+".", b)
			}
			return
		}
		got.attrs[prefix+a.Key] = a.Value.Any()
	}
	r.Attrs(func(a slog.Attr) bool { add("", a); return true })
	rec.mu.Lock()
	rec.records = append(rec.records, got)
	rec.mu.Unlock()
	if rec.onLog != nil {
		rec.onLog(got)
	}
	return nil
}

// take returns the records since the last take.
func (rec *recorder) take() []record {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	records := rec.records
	rec.records = nil
	return records
}

// one returns the one record since the last take, and requires that it is a warning whose message
// holds text.
func (rec *recorder) one(t *testing.T, text string) map[string]any {
	t.Helper()
	records := rec.take()
	require.Len(t, records, 1)
	require.Equal(t, slog.LevelWarn, records[0].level)
	require.Contains(t, records[0].message, text)
	require.True(t, strings.HasPrefix(records[0].message, "spangate: "), records[0].message)
	return records[0].attrs
}

func (rec *recorder) none(t *testing.T) {
	t.Helper()
	require.Empty(t, rec.take())
}

func recorded(opts ...registry.Option) (*registry.Registry, *recorder) {
	rec := new(recorder)
	return registry.New(append(opts, registry.Logger(slog.New(rec)))...), rec
}

func TestUnknownNameIsReportedWithNearestAndRegisteredNames(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	newLibrary(t, "other", []string{"rollout"}, nil).add(t, r)
	rec.none(t)

	r.SetSpec("tx, Rolout,zzz,defualt")
	require.Equal(t, map[string]any{
		"spec":                  "tx, Rolout,zzz,defualt",
		"pending":               []string{"defualt", "rolout", "zzz"},
		"nearest":               map[string]string{"rolout": "rollout", "defualt": "default"},
		"registered.namespaces": []string{"mylib", "other"},
		"registered.presets":    []string{"all", "default"},
		"registered.groups":     []string{"query", "rollout", "tx"},
	}, rec.one(t, "take effect when they are"))
}

func TestSameWarningIsNotRepeated(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	r.SetSpec("tx,nope")
	rec.one(t, "these names are not registered")

	r.SetSpec("tx,nope")
	r.Resolve("nope")
	r.Resolve("never heard of")
	_, _, _ = r.Enabled(), r.Pending(), r.Presets()
	newLibrary(t, "other", []string{"x"}, nil).add(t, r)
	require.NoError(t, r.Unregister("other"))
	rec.none(t)

	// An owner that comes and goes is not reported every time.
	owner := newLibrary(t, "owner", []string{"nope"}, nil)
	for range 3 {
		owner.add(t, r)
		require.NoError(t, r.Unregister("owner"))
	}
	rec.none(t)
}

func TestPlanIsReportedAnewAfterASpecAndNotAfterAPlan(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	setPlan(t, r, plan.Plan{Baseline: "tx,nope"})
	rec.one(t, "these names are not registered")
	setPlan(t, r, plan.Plan{Baseline: "tx,nope", Specs: []string{"query"}})
	rec.none(t)
	r.SetSpec("tx,nope")
	rec.one(t, "these names are not registered")
	setPlan(t, r, plan.Plan{Baseline: "tx,nope"})
	rec.one(t, "these names are not registered")
}

func TestChangedWarningIsReported(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	r.SetSpec("tx,nope,late")
	rec.one(t, "")

	newLibrary(t, "owner", []string{"late"}, nil).add(t, r)
	require.Equal(t, []string{"nope"}, rec.one(t, "")["pending"], "less is missing")

	r.SetSpec("query,nope")
	require.Equal(t, "query,nope", rec.one(t, "")["spec"], "another spec with the same name")

	require.NoError(t, r.Unregister("mylib"))
	require.Equal(t, []string{"nope", "query"}, rec.one(t, "and nothing is on")["pending"], "more is missing")

	r.SetSpec("late")
	rec.none(t)
	r.SetSpec("query,nope")
	rec.one(t, "and nothing is on") // another spec was set in between, so it is reported again
	r.SetSpec("query,nope")
	rec.none(t)
}

func TestSpecOnEmptyRegistryIsReported(t *testing.T) {
	r, rec := recorded()
	r.SetSpec("default")
	attrs := rec.one(t, "nothing is registered")
	require.Equal(t, "default", attrs["spec"])
	require.Equal(t, []string{"default"}, attrs["pending"])
	require.Equal(t, []string{}, attrs["registered.namespaces"])
	mylib(t).add(t, r)
	rec.none(t) // it has default

	require.NoError(t, r.Unregister("mylib"))
	rec.none(t) // reported before, and still true of this spec

	r.SetSpec("all")
	rec.one(t, "nothing is registered")
	require.NoError(t, r.Pin("tx"))
	require.Equal(t, []string{"tx"}, rec.one(t, "nothing is registered")["pin"])
}

func TestNothingOnIsNotReportedIfEveryNameResolves(t *testing.T) {
	r, rec := recorded()
	for _, spec := range []string{"", " , ", "-all"} {
		r.SetSpec(spec)
	}
	require.NoError(t, r.Pin())
	rec.none(t)

	newLibrary(t, "mylib", []string{"tx"}, map[string][]string{"quiet": {}}).add(t, r)
	for _, spec := range []string{"", " , ", "-all", "-ALL,tx", "tx , -all"} {
		r.SetSpec(spec)
	}
	require.NoError(t, r.Pin())
	rec.none(t)

	for _, spec := range []string{"tx,-tx", "quiet", "-tx", "all,-tx"} {
		r.SetSpec(spec)
		rec.none(t) // every name resolves, so it may be meant
	}
	setPlan(t, r, plan.Plan{Baseline: "tx", Quiet: []string{"all"}, Deny: "tx", Ceiling: "-all"})
	rec.none(t)
	r.SetSpec("nope,-all")
	require.Equal(t, []string{"nope"}, rec.one(t, "and nothing is on")["pending"])
}

func TestUnregisteredPinnedGroupIsReported(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	require.NoError(t, r.Pin("txx", "query", "default"))
	attrs := rec.one(t, "take effect when they are")
	require.Equal(t, []string{"default", "query", "txx"}, attrs["pin"])
	require.Equal(t, []string{"default", "txx"}, attrs["pending"])
	require.Equal(t, map[string]string{"txx": "tx"}, attrs["nearest"], "default is a preset, and no group is near")
	require.NoError(t, r.Pin("query", "txx", "DEFAULT"))
	rec.none(t)
	require.NoError(t, r.Pin("txx"))
	rec.one(t, "and nothing is on")
}

func TestSharedNamesAreReportedUnlessOverride(t *testing.T) {
	r, rec := recorded()
	newLibrary(t, "a", []string{"step", "job", "x"}, map[string][]string{"default": {"x"}, "io": {"x"}}).add(t, r)
	newLibrary(t, "silent", []string{"step", "io"}, nil).add(t, r, registry.Override())
	rec.none(t)

	b := newLibrary(t, "b", []string{"step", "job", "own"}, map[string][]string{"default": {"own"}})
	b.add(t, r)
	require.Equal(t, map[string]any{
		"namespace": "b", "shared": []string{"job", "step"}, "with": []string{"a", "silent"},
	}, rec.one(t, "other namespaces have these names too"))

	require.NoError(t, r.Unregister("b"))
	b.add(t, r)
	rec.none(t) // the same
	require.NoError(t, r.Unregister("b"))
	require.NoError(t, r.Unregister("silent"))
	b.add(t, r)
	require.Equal(t, []string{"a"}, rec.one(t, "")["with"], "changed")

	// A group that is another's preset, and the other way round; but presets are joined.
	newLibrary(t, "c", []string{"io"}, map[string][]string{"default": {}, "job": {}}).add(t, r, registry.Preset("job", "io"))
	require.Equal(t, []string{"io", "job"}, rec.one(t, "")["shared"])
	newLibrary(t, "d", []string{"y"}, map[string][]string{"slow": {"y"}}).add(t, r)
	newLibrary(t, "e", []string{"slow"}, nil).add(t, r)
	require.Equal(t, []string{"d"}, rec.one(t, "")["with"], "it has a preset of that name")
}

func TestPresetWithUnregisteredGroupsIsReported(t *testing.T) {
	r, rec := recorded()
	newLibrary(t, "a", []string{"x"}, nil).add(t, r, registry.Preset("p", "x", "query", "txx", "all"))
	attrs := rec.one(t, "groups of a preset")
	require.Equal(t, "a", attrs["namespace"])
	require.Equal(t, "p", attrs["preset"])
	require.Equal(t, []string{"all", "query", "txx"}, attrs["missing"])
	require.Equal(t, []string{"x"}, attrs["registered.groups"])

	r.SetSpec("x")
	rec.none(t)
	mylib(t).add(t, r)
	attrs = rec.one(t, "groups of a preset")
	require.Equal(t, []string{"all", "txx"}, attrs["missing"])
	require.Equal(t, map[string]string{"txx": "tx"}, attrs["nearest"])
	require.NoError(t, r.Unregister("mylib"))
	mylib(t).add(t, r)
	rec.none(t)
}

func TestRecordsAreBounded(t *testing.T) {
	size := func(rec *recorder) int { return len(fmt.Sprint(rec.take())) }
	var groups []string
	for i := range spangate.MaxGroups {
		groups = append(groups, fmt.Sprintf("%063d", i))
	}
	r, rec := recorded()
	for i := range 40 {
		newLibrary(t, fmt.Sprintf("%063d", i), groups, nil).add(t, r, registry.Override())
	}
	var many strings.Builder
	for i := range 9_000 {
		fmt.Fprintf(&many, "n%d,", i)
	}
	for name, spec := range map[string]string{
		"many names": many.String(),
		"long name":  strings.Repeat("x", spangate.MaxSpecLen),
		"too long":   strings.Repeat("x,", spangate.MaxSpecLen),
	} {
		r.SetSpec(spec)
		require.Less(t, size(rec), 32<<10, name)
	}
	require.Equal(t, 9_000, len(r.SetSpec(many.String())), "records are cut, results are not")
}

func TestRecordListsSixtyFourNamesAndCountsTheRest(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	var names []string
	for i := range 65 {
		names = append(names, fmt.Sprintf("n%02d", i))
	}
	r.SetSpec(strings.Join(names[:64], ","))
	require.Equal(t, names[:64], rec.take()[0].attrs["pending"])
	r.SetSpec(strings.Join(names, ","))
	require.Equal(t, append(names[:64:64], "… and 1 more"), rec.take()[0].attrs["pending"])
}

func TestQueuedRecordsKeepNoSpecs(t *testing.T) {
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	r, rec := recorded()
	blocked, entered := make(chan struct{}), make(chan struct{})
	rec.onLog = func(record) {
		entered <- struct{}{}
		<-blocked
	}
	var first sync.WaitGroup
	first.Go(func() { r.SetSpec("nope") })
	<-entered
	before := heap()
	for i := range 100 {
		r.SetSpec(fmt.Sprintf("short%d,", i) + strings.Repeat(fmt.Sprintf("%060d,", i), 1000))
	}
	require.Less(t, heap()-before, 2<<20, "the specs have 6 MB")
	rec.onLog = nil
	close(blocked)
	first.Wait()
	require.Len(t, rec.take(), 101)
}

func TestTooLongSpecIsReported(t *testing.T) {
	r, rec := recorded()
	r.SetSpec(strings.Repeat("x", spangate.MaxSpecLen+1))
	attrs := rec.one(t, "longer than 65536 bytes")
	require.Equal(t, strings.Repeat("x", 256)+"…", attrs["spec"])
}

func TestRefusedChangeReportsNothing(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	l := newLibrary(t, "x", []string{"tx"}, nil)
	require.Error(t, r.Register(l.catalog, l.gate, registry.Preset("p", "missing"), registry.Preset("all")))
	require.Error(t, r.Pin("nope", "all"))
	rec.none(t)
	require.NoError(t, r.Register(l.catalog, l.gate))
	rec.one(t, "other namespaces")
}

func TestDefaultLoggerIsLookedUpWhenUsed(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	r := registry.New()
	for range 2 {
		rec := new(recorder)
		slog.SetDefault(slog.New(rec))
		r.SetSpec("nope")
		rec.one(t, "nothing is registered")
		r.SetSpec("")
	}
}

func TestLoggerMayCallTheRegistry(t *testing.T) {
	r, rec := recorded()
	l := mylib(t)
	late := newLibrary(t, "late", []string{"tx", "soon"}, nil)
	n := 0
	rec.onLog = func(record) {
		// From the goroutine that is logging, and from one that it waits for.
		var wg sync.WaitGroup
		defer wg.Wait()
		work := func() {
			_, _, _, _ = r.Enabled(), r.Groups(), r.Presets(), r.Namespaces()
			r.Resolve("all,nope")
		}
		work()
		wg.Go(work)
		n++
		switch n {
		case 1:
			require.NoError(t, r.Register(l.catalog, l.gate))
			require.NoError(t, r.Register(late.catalog, late.gate)) // shares tx
		case 2:
			wg.Go(func() { r.SetSpec("tx,other") })
		case 3:
			require.NoError(t, r.Unregister("late"))
			require.NoError(t, r.Pin("soon"))
		}
	}
	within(t, func() { r.SetSpec("nope") })
	var messages []string
	for _, record := range rec.take() {
		messages = append(messages, record.message[:len("spangate: these name")])
	}
	require.Equal(t, []string{
		"spangate: nothing is", // SetSpec("nope"); 1 registers both
		"spangate: these name", // nope, with mylib; 2 sets another spec
		"spangate: other name", // late shares tx; 3 pins
		"spangate: these name", // tx,other
		"spangate: these name", // the pin of soon, which has left
	}, messages)
	require.Empty(t, r.Enabled())
	require.Equal(t, []string{"soon"}, r.Pending())
}

// within runs f in a goroutine of its own and fails the test if it has not returned in time.
func within(t *testing.T, f func()) {
	t.Helper()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		f()
	}()
	receive(t, returned)
}

// receive waits until c is closed, and fails the test if that takes too long.
func receive(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "timed out")
	}
}

func TestNoLockIsHeldWhileLogging(t *testing.T) {
	r, rec := recorded()
	l := mylib(t).add(t, r)
	entered := make(chan struct{})
	blocked, unblock := context.WithTimeout(t.Context(), 10*time.Second)
	var once sync.Once
	rec.onLog = func(record) { once.Do(func() { close(entered); <-blocked.Done() }) }
	var wg sync.WaitGroup
	wg.Go(func() { r.SetSpec("nope") })
	receive(t, entered)

	r.SetSpec("tx,other") // while the logger is blocked
	require.Equal(t, "tx", l.names())
	require.NoError(t, r.Unregister("mylib"))
	mylib(t).add(t, r)
	require.Len(t, rec.take(), 1)

	require.NoError(t, blocked.Err(), "no call waits for the logger")
	unblock()
	wg.Wait()
	records := rec.take()
	require.NotEmpty(t, records, "records queued meanwhile are logged afterwards")
	require.Equal(t, []string{"other"}, records[0].attrs["pending"])
}

// TestQueueOfBlockedLoggerIsBounded has one goroutine blocked in the logger while another makes
// changes, each with a record of its own.
func TestQueueOfBlockedLoggerIsBounded(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	entered := make(chan struct{})
	blocked, unblock := context.WithTimeout(t.Context(), 10*time.Second)
	var once sync.Once
	rec.onLog = func(record) { once.Do(func() { close(entered); <-blocked.Done() }) }
	var wg sync.WaitGroup
	wg.Go(func() { r.SetSpec("first") })
	receive(t, entered)
	const extra = 100
	for i := range registry.MaxQueued + extra {
		r.SetSpec(fmt.Sprint("n", i))
	}
	require.NoError(t, blocked.Err(), "no call waits for the logger")
	unblock()
	wg.Wait()
	records := rec.take()
	require.Len(t, records, 1+1+registry.MaxQueued)
	require.Contains(t, records[1].message, "records of the registry were dropped")
	require.Equal(t, int64(extra), records[1].attrs["dropped"])
	require.Equal(t, []string{fmt.Sprint("n", registry.MaxQueued-1)}, records[len(records)-1].attrs["pending"])

	r.SetSpec("tx")
	r.SetSpec(fmt.Sprint("n", registry.MaxQueued))
	rec.one(t, "these names are not registered") // what was dropped was not reported
}

func TestRegistryLogsAfterALoggerPanicked(t *testing.T) {
	r, rec := recorded()
	l := mylib(t).add(t, r)
	rec.onLog = func(record) { panic("disk full") }
	require.PanicsWithValue(t, "disk full", func() { r.SetSpec("tx,nope") })
	require.Equal(t, "tx", l.names(), "the change was made")
	rec.onLog = nil
	rec.take()
	r.SetSpec("query,nope")
	rec.one(t, "not registered")
	require.Equal(t, "query", l.names())
}

func TestMemoryOfReportedWarningsIsBounded(t *testing.T) {
	r, rec := recorded()
	mylib(t).add(t, r)
	registerOnce := func(i int) { // each namespace has another name, so each warning is a new one
		l := newLibrary(t, fmt.Sprint("lib", i), []string{"tx"}, nil).add(t, r)
		require.NoError(t, r.Unregister(l.catalog.Namespace()))
	}
	for i := range 2000 {
		registerOnce(i)
	}
	require.Len(t, rec.take(), 2000)
	registerOnce(1999)
	rec.none(t)
	registerOnce(0)
	rec.one(t, "other namespaces")
}

// info returns the one record since the last take, and requires that it is of level INFO.
func (rec *recorder) info(t *testing.T, text string) map[string]any {
	t.Helper()
	records := rec.take()
	require.Len(t, records, 1)
	require.Equal(t, slog.LevelInfo, records[0].level)
	require.Contains(t, records[0].message, text)
	return records[0].attrs
}

func TestNameOfALibraryThatIsNotSeenYetIsNoWarning(t *testing.T) {
	r, rec := recorded()
	find := registry.Scopes(r)
	r.SetSpec("default,-otelsql,-redisotel")
	require.Equal(t, []string{"default", "otelsql", "redisotel"}, rec.info(t, "not registered yet")["pending"])
	for _, scope := range []string{otelhttp, otelsql, "redisotel"} {
		find(scope)
	}
	require.Equal(t, []string{"otelhttp"}, r.Enabled())
	r.SetSpec("all,-nope")
	require.Equal(t, []string{"nope"}, rec.info(t, "not registered yet")["pending"])
	require.NoError(t, r.Pin("nope2"))
	rec.info(t, "not registered yet")
	r.SetSpec("")
	rec.none(t)
}

func TestMisspeltNameIsAWarningOnceANearScopeIsSeen(t *testing.T) {
	r, rec := recorded()
	find := registry.Scopes(r)
	r.SetSpec("default,-otelsq,-zzz")
	rec.info(t, "not registered yet")
	find(otelhttp)
	rec.none(t)
	find(otelsql)
	attrs := rec.one(t, "not registered; they are kept")
	require.Equal(t, map[string]string{"otelsq": "otelsql"}, attrs["nearest"])
	require.Equal(t, []string{"otelsq", "zzz"}, attrs["pending"])
	find("another")
	find("example.com/" + otelsql) // the group gets another doc
	rec.none(t)
	r.SetSpec("default,-otelsq,-zzz")
	rec.none(t)
	r.SetSpec("default,-otelsq")
	rec.one(t, "not registered; they are kept")
}

func TestNothingIsOnIsSaidOnlyWhereItIsTrue(t *testing.T) {
	const nothing = "and nothing is on"
	r, rec := recorded()
	find := registry.Scopes(r)
	newLibrary(t, "rules", nil, map[string][]string{"default": nil}).add(t, r)
	r.SetSpec("defualt,default")
	require.NotContains(t, rec.take()[0].message, nothing, "no group is registered")
	find(otelhttp)
	rec.none(t)
	r.SetSpec("defualt")
	require.Equal(t, map[string]string{"defualt": "default"}, rec.one(t, nothing)["nearest"])
}

func TestTooLongSpecIsAWarningWithScopes(t *testing.T) {
	r, rec := recorded()
	registry.Scopes(r)
	r.SetSpec(strings.Repeat("x", spangate.MaxSpecLen+1))
	rec.one(t, "longer than 65536 bytes")
}

func TestPlanOfAClosedControllerIsNotReported(t *testing.T) {
	r, rec := recorded()
	lib := mylib(t).add(t, r)
	setPlan(t, r, plan.Plan{Baseline: "tx"})
	require.NoError(t, r.Unregister("mylib"))
	rec.none(t)
	lib.add(t, r)
	require.Equal(t, []string{"tx"}, r.Enabled(), "the plan holds")
	r.SetSpec("tx")
	require.NoError(t, r.Unregister("mylib"))
	rec.one(t, "nothing is registered")
}
