// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// program is a function for [control.Scopes] that counts its calls.
type program struct {
	fn    atomic.Pointer[func() []control.Scope]
	calls atomic.Int64
}

// set makes p return scopes.
func (p *program) set(scopes ...control.Scope) { p.call(func() []control.Scope { return scopes }) }

func (p *program) call(fn func() []control.Scope) { p.fn.Store(&fn) }

func (p *program) option() control.Option {
	return control.Scopes(func() ([]control.Scope, []control.UnmatchedRule) {
		p.calls.Add(1)
		if fn := p.fn.Load(); fn != nil {
			return (*fn)(), nil
		}
		return nil, nil
	})
}

// one returns a scope with one site in group job of the fixture.
func (f *fixture) one(name string, started uint64) control.Scope {
	return control.Scope{Name: name, Sites: []control.Site{{Gate: &f.gate, Group: spangate.BitJob, Started: started}}}
}

// spansOf returns the spans of a group in s.
func spansOf(t testing.TB, s control.State, group string) control.Spans {
	t.Helper()
	for _, g := range s.Groups {
		if g.Name == group {
			require.NotNil(t, g.Spans)
			return *g.Spans
		}
	}
	require.Fail(t, "there is no group "+group)
	return control.Spans{}
}

func TestStateShowsScopesWithTheirGroupsAndSpans(t *testing.T) {
	var p program
	f := newFixture(t, control.StartupBaseline(baseline("server")), p.option())
	db, foreign := f.addDB(t), spangate.NewGate(2)
	p.set(
		control.Scope{Name: "sql", Sites: []control.Site{
			{Rule: "sql client = query", Kind: "client", Gate: db, Group: 1, Started: 7, Withheld: 3, CountsWithheld: true},
			{Rule: "sql = tx", Gate: db, Group: 1<<63 | 1<<5, Started: math.MaxUint64},
		}},
		control.Scope{Name: "", Sites: []control.Site{
			{Rule: `"" eval* = server,http_client`, SpanName: "eval*", Gate: &f.gate, Group: spangate.BitServer | spangate.BitHTTPClient, Started: 2},
			{Started: 5},
		}},
		control.Scope{Name: "foreign", Sites: []control.Site{
			{Gate: foreign, Group: 3, Started: 1}, {Gate: foreign, Group: 1}, {Gate: foreign}, {Gate: &f.gate},
		}},
		control.Scope{Name: "sql", Sites: []control.Site{
			{Rule: "sql client = query", Kind: "client", Gate: db, Group: 1, Started: 1, Withheld: 1, CountsWithheld: true},
		}},
		control.Scope{Name: "no sites"},
	)
	s := f.State()
	started := func(n uint64) control.Spans { return control.Spans{Started: n} }
	query := control.Spans{Started: 8, Withheld: 4, CountsWithheld: true}
	for i := range s.Scopes { // their rates have their own test
		s.Scopes[i].Spans.PerSecond = 0
		for j := range s.Scopes[i].Sites {
			s.Scopes[i].Sites[j].Spans.PerSecond = 0
		}
	}
	require.Equal(t, []control.ScopeInfo{
		{Name: "", Spans: started(7), Sites: []control.SiteInfo{
			{Rule: `"" eval* = server,http_client`, SpanName: "eval*", Groups: []string{"http_client", "server"}, On: true, Spans: started(2)},
			{Groups: []string{}, On: true, Spans: started(5)},
		}},
		{Name: "foreign", Spans: started(1), Sites: []control.SiteInfo{
			{Groups: []string{"0x3"}, On: spangate.Compiled, Spans: started(1)}, {Groups: []string{"0x1"}}, {Groups: []string{"0x0"}}, {Groups: []string{"0x0"}},
		}},
		{Name: "sql", Spans: control.Spans{Started: 7, Withheld: 4, CountsWithheld: true}, Sites: []control.SiteInfo{
			{Rule: "sql client = query", Kind: "client", Groups: []string{"query"}, Spans: query},
			{Rule: "sql = tx", Groups: []string{"0x20", "tx"}, Spans: started(math.MaxUint64)},
		}},
	}, s.Scopes, "a sum above 64 bits wraps")
	for name, n := range map[string]uint64{"server": 2, "http_client": 2, "tx": math.MaxUint64, "job": 0} {
		spans := spansOf(t, s, name)
		require.Equal(t, n, spans.Started, name)
		require.False(t, spans.CountsWithheld, name)
	}
	require.Equal(t, uint64(4), spansOf(t, s, "query").Withheld)

	require.NoError(t, f.registry.Unregister("mydb"))
	require.Equal(t, []string{"0x1"}, f.State().Scopes[2].Sites[0].Groups)
}

func TestUnmatchedRulesAreListed(t *testing.T) {
	rules := []control.UnmatchedRule{{Rule: "b = job", Nearest: "a"}, {Rule: "a* = job"}}
	f := newFixture(t, control.Scopes(func() ([]control.Scope, []control.UnmatchedRule) { return nil, rules }))
	require.Equal(t, rules, f.State().Unmatched)
	f.State().Unmatched[0].Rule = "changed"
	require.Equal(t, "b = job", rules[0].Rule)
	require.Equal(t, rules, f.State().Unmatched)
	require.Equal(t, []wire.UnmatchedRule{{Rule: "b = job", Nearest: "a"}, {Rule: "a* = job"}}, as[wire.State](newEndpoint(t, f).do("GET", "/", ""), 200).Unmatched)
	require.NoError(t, f.Close())
	rules[0].Rule = "changed"
	require.Equal(t, "b = job", f.State().Unmatched[0].Rule)
}

func TestStateHasNoSpansWithoutTheOption(t *testing.T) {
	for _, opts := range [][]control.Option{nil, {control.Scopes(nil)}} {
		s := newFixture(t, opts...).State()
		require.Equal(t, []control.ScopeInfo{}, s.Scopes)
		require.Equal(t, []control.UnmatchedRule{}, s.Unmatched)
		for _, g := range s.Groups {
			require.Nil(t, g.Spans)
		}
	}
}

func TestRateIsThatOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		var started atomic.Uint64
		started.Store(1_000_000) // before the controller
		f := newFixture(t, p.option())
		p.call(func() []control.Scope {
			scope := f.one("a", started.Load())
			scope.Sites = append(scope.Sites, control.Site{Rule: "quiet", Gate: &f.gate, Group: spangate.BitJob, Started: 1})
			return []control.Scope{scope}
		})
		sleep(10 * time.Second) // takes a sample
		rate := func() float64 {
			t.Helper()
			s := f.State()
			require.Equal(t, s.Scopes[0].Sites[0].Spans.PerSecond, s.Scopes[0].Spans.PerSecond)
			require.Equal(t, s.Scopes[0].Spans.PerSecond, spansOf(t, s, "job").PerSecond)
			return s.Scopes[0].Spans.PerSecond
		}
		sleep(2 * time.Minute)
		require.Zero(t, rate(), "nothing was started over the last minute")
		for range 120 {
			started.Add(3)
			sleep(time.Second)
		}
		require.InDelta(t, 3, rate(), 0.2)
		sleep(30 * time.Second)
		require.InDelta(t, 1.5, rate(), 0.2)
		started.Store(5)
		require.Zero(t, rate(), "a count that goes back is no rate")
		sleep(2 * time.Minute)
		require.Zero(t, rate())
		started.Store(math.MaxUint64)
		require.Positive(t, rate())
		require.False(t, math.IsInf(rate(), 0))
		started.Store(0)
		sleep(2 * time.Minute)
		require.Zero(t, rate())
	})
}

func TestRateWithinTheFirstMinuteIsThatSinceTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		var f fixture
		p.set(f.one("a", 600))
		f = *newFixture(t, p.option())
		p.set(f.one("a", 600), f.one("b", 0))
		require.Zero(t, f.State().Scopes[0].Spans.PerSecond, "spans that were started before New")
		p.set(f.one("a", 600), f.one("b", 30))
		require.Equal(t, 30.0, f.State().Scopes[1].Spans.PerSecond, "a second at least")
		sleep(15 * time.Second)
		require.Equal(t, 2.0, f.State().Scopes[1].Spans.PerSecond)
	})
}

func TestNumberOfScopesIsBounded(t *testing.T) {
	var p program
	f := newFixture(t, p.option())
	site := control.Site{Gate: &f.gate, Group: spangate.BitJob, Started: 1}
	sites := func(n int) (list []control.Site) {
		for i := range n {
			list = append(list, control.Site{Rule: fmt.Sprint(i), Gate: &f.gate, Group: spangate.BitJob, Started: 1})
		}
		return list
	}
	scopes := func(prefix string, n int) (list []control.Scope) {
		for i := range n {
			list = append(list, control.Scope{Name: fmt.Sprintf("%s%04d", prefix, i), Sites: []control.Site{site}})
		}
		return list
	}
	other := func(s control.State, names int) control.ScopeInfo {
		t.Helper()
		require.Equal(t, names, len(s.Scopes))
		for _, scope := range s.Scopes {
			if scope.Name == "other" {
				return scope
			}
		}
		require.Fail(t, "there is no scope other")
		return control.ScopeInfo{}
	}
	list := scopes("m", 900)
	list = append(list, control.Scope{Name: "a" + strings.Repeat("x", 256), Sites: []control.Site{site}})
	p.set(list...)
	require.Equal(t, uint64(1), other(f.State(), 901).Spans.Started, "a long name")
	list = append(list, scopes("z", 200)...)
	p.set(list...)
	require.Equal(t, uint64(101), other(f.State(), 1001).Spans.Started)
	list = append(scopes("a", 50_000), list...)
	p.set(list...)
	s := f.State()
	require.Equal(t, uint64(50_101), other(s, 1001).Spans.Started, "scopes that are listed stay listed")
	require.Equal(t, 1, len(other(s, 1001).Sites))
	require.Equal(t, uint64(51_101), spansOf(t, s, "job").Started)

	p.set()
	f = newFixture(t, p.option())
	p.set(control.Scope{Name: "a", Sites: sites(9_000)}, control.Scope{Name: "b", Sites: sites(1_001)}, control.Scope{Name: "c", Sites: sites(1_000)})
	rest := other(f.State(), 3)
	require.Equal(t, uint64(1_001), rest.Spans.Started, "one site of b, all of c")
	require.Len(t, rest.Sites, 1)
	p.set(control.Scope{Name: "a", Sites: sites(60_000)}, control.Scope{Name: "b", Sites: sites(1_001)})
	rest = other(f.State(), 3)
	require.Equal(t, uint64(51_001), rest.Spans.Started, "a scope that grows")
	require.Len(t, rest.Sites, 1)
}

func TestTextsOfTheProgramAreBoundedAndUTF8(t *testing.T) {
	var p program
	f := newFixture(t, p.option())
	long := strings.Repeat("x", 60_000)
	p.set(control.Scope{Name: "caf\xe9", Sites: []control.Site{{Rule: long, SpanName: long, Kind: long, Started: 1}}})
	scope := f.State().Scopes[0]
	require.Equal(t, "caf\uFFFD", scope.Name)
	for _, text := range []string{scope.Sites[0].Rule, scope.Sites[0].SpanName, scope.Sites[0].Kind} {
		require.Equal(t, strings.Repeat("x", 256)+"…", text)
	}
}

func TestEndpointTakesOneSampleASecondForAllReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		var started atomic.Uint64
		f := newFixture(t, p.option())
		h := control.Handler(f.Controller)
		get := func() wire.State {
			var s wire.State
			assert.NoError(t, json.Unmarshal(serve(h, httptest.NewRequest("GET", "/", nil)).Body.Bytes(), &s))
			return s
		}
		sleep(2 * time.Second)
		before := p.calls.Load()
		block := make(chan struct{})
		p.call(func() []control.Scope {
			n := started.Add(1)
			if n == 1 {
				<-block
			}
			return []control.Scope{f.one("a", n)}
		})
		var readers sync.WaitGroup
		readers.Go(func() { require.Equal(t, "2", get().Scopes[0].Spans.Started, "a newer sample was taken meanwhile") })
		synctest.Wait()
		for range 100 {
			readers.Go(func() { require.Empty(t, get().Scopes, "the last sample") })
		}
		synctest.Wait()
		require.Equal(t, before+1, p.calls.Load())
		sleep(time.Millisecond)
		require.Equal(t, uint64(2), f.State().Scopes[0].Spans.Started)
		close(block)
		readers.Wait()
		require.Equal(t, "2", get().Scopes[0].Spans.Started)
	})
}

func TestRateIsOfTheLastMinuteAfterTheFunctionPanicked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		f := newFixture(t, p.option(), control.Logger(slog.New(slog.DiscardHandler)))
		p.set(f.one("a", 0))
		sleep(30 * time.Second)
		p.call(func() []control.Scope { panic("no scopes") })
		sleep(9 * time.Minute)
		p.set(f.one("a", 60_000))
		sleep(50 * time.Second)
		require.Zero(t, f.State().Scopes[0].Spans.PerSecond)
	})
}

func TestNilScopesKeepsTheFunctionBeforeIt(t *testing.T) {
	var p program
	f := newFixture(t, p.option(), control.Scopes(nil))
	p.set(f.one("a", 1))
	require.Len(t, f.State().Scopes, 1)
}

func TestPanicOfTheFunctionKeepsTheCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		log := new(records)
		p.call(func() []control.Scope { panic("before the controller is there") })
		f := newFixture(t, p.option(), control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})))
		require.Empty(t, f.State().Scopes)
		p.set(f.one("a", 1))
		require.Equal(t, uint64(1), spansOf(t, f.State(), "job").Started)
		sleep(time.Minute)
		log.take()

		p.call(func() []control.Scope { panic("no scopes") })
		before := p.calls.Load()
		sleep(time.Second)
		for range 100 {
			require.Equal(t, uint64(1), spansOf(t, f.State(), "job").Started)
		}
		require.Equal(t, before+100, p.calls.Load())
		require.Empty(t, log.take())
		sleep(10 * time.Second)
		list := log.take()
		require.Len(t, list, 1)
		require.Contains(t, list[0].Message, "control.Scopes panicked")
		require.Equal(t, "no scopes", attrsOf(list[0])["panic"])

		p.call(func() []control.Scope { runtime.Goexit(); return nil })
		sleep(time.Minute)
		p.set(f.one("a", 7))
		before = p.calls.Load()
		sleep(10 * time.Second)
		require.Equal(t, before+1, p.calls.Load(), "it is called again")
		require.Equal(t, uint64(7), spansOf(t, f.State(), "job").Started)
	})
}

func TestNoChangeWaitsForTheScopes(t *testing.T) {
	var p program
	f := newFixture(t, p.option())
	b := newBlocker(t)
	defer b.release()
	p.call(func() []control.Scope { b.block(); return nil })
	state := make(chan control.State, 1)
	go func() { state <- f.State() }()
	receive(t, "the function is called", b.entered)
	within(t, "a change", func() {
		require.NoError(t, f.SetBaseline(baseline("job")))
		require.NoError(t, f.registry.Unregister("nemo_gym"))
	})
	within(t, "closing", func() {
		require.NoError(t, f.Close())
		f.State()
	})
	b.release()
	require.Empty(t, receive(t, "the state", state).Scopes)
}

func TestSlowFunctionIsNotCalledAgainByTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		f := newFixture(t, p.option())
		leave := make(chan struct{})
		p.call(func() []control.Scope { <-leave; return []control.Scope{f.one("a", 1)} })
		before := p.calls.Load()
		sleep(time.Hour)
		require.Equal(t, before+1, p.calls.Load())
		p.set(f.one("a", 2))
		require.Equal(t, uint64(2), spansOf(t, f.State(), "job").Started)
		close(leave)
		synctest.Wait()
		require.NoError(t, f.Close())
		require.Equal(t, uint64(2), spansOf(t, f.State(), "job").Started, "the latest call counts")
	})
}

func TestClosedControllerAsksForNoScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		f := newFixture(t, p.option())
		p.set(f.one("a", 1))
		f.State()
		before := p.calls.Load()
		_, err := control.New(f.registry, p.option())
		require.ErrorIs(t, err, control.ErrControlled)
		require.Equal(t, before+1, p.calls.Load())
		sleep(time.Minute)
		require.Equal(t, before+7, p.calls.Load(), "one of two controllers is there")
		require.NoError(t, f.Close())
		p.set(f.one("a", 2))
		sleep(time.Minute)
		require.Equal(t, uint64(1), spansOf(t, f.State(), "job").Started)
		get(t, control.Handler(f.Controller), "")
		require.Equal(t, before+7, p.calls.Load())
	})
}

// TestAnswerHasTheCountsOfTheLastSecond pins that the endpoint asks for the scopes, and builds its
// answer, at most once a second.
func TestAnswerHasTheCountsOfTheLastSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		f := newFixture(t, p.option())
		h := control.Handler(f.Controller)
		started := func() string {
			t.Helper()
			var s wire.State
			require.NoError(t, json.Unmarshal([]byte(get(t, h, "")), &s))
			for _, g := range s.Groups {
				if g.Name == "job" {
					return g.Spans.Started
				}
			}
			return ""
		}
		sleep(time.Second)
		before := p.calls.Load()
		for range 100 {
			require.Equal(t, "0", started())
		}
		require.Equal(t, before+1, p.calls.Load())
		p.set(f.one("a", math.MaxUint64))
		require.Equal(t, "0", started())
		sleep(time.Second)
		require.Equal(t, "18446744073709551615", started())
		sleep(time.Second)
		want, err := json.Marshal(control.WireState(f.State()))
		require.NoError(t, err)
		require.JSONEq(t, string(want), get(t, h, ""))
	})
}

func TestAnswersWithCountsAreNotConfusedByTheirTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p program
		f := newFixture(t, p.option())
		p.set(f.one("a", 1))
		h := control.Handler(f.Controller)
		status := func(accept string, tag *string) int {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept", accept)
			r.Header.Set("If-None-Match", *tag)
			w := serve(h, r)
			*tag = w.Header().Get("ETag")
			return w.Code
		}
		var text, page string
		for range 2 {
			require.Equal(t, http.StatusOK, status("", &text), "equal generations may have other counts")
		}
		require.Equal(t, `"`+f.State().Generation+`"`, text)
		sleep(2 * time.Minute) // until the rate is 0
		require.Equal(t, http.StatusOK, status("text/html", &page))
		sleep(time.Minute)
		require.Equal(t, http.StatusNotModified, status("text/html", &page))
		p.set(f.one("a", 2))
		sleep(time.Second)
		require.Equal(t, http.StatusOK, status("text/html", &page))
	})
}

func TestStateWithScopesCanBeSentBack(t *testing.T) {
	var p program
	var scopes []control.Scope
	for i := range 2000 {
		name := fmt.Sprintf(`%d","sp]ec":"all%s`, i, strings.Repeat("\xff", 200))
		scopes = append(scopes, control.Scope{Name: name, Sites: []control.Site{{Started: 1}}})
	}
	p.set(scopes...)
	f := newFixture(t, control.StartupBaseline(baseline("job")), p.option())
	e := newEndpoint(t, f, anyone())
	before := e.do("GET", "/", "")
	require.Equal(t, 1001, len(as[wire.State](before, 200).Scopes))
	require.NoError(t, f.SetBaseline(baseline("step")))
	as[wire.State](e.json("PUT", "/", before.body), 200)
	require.Equal(t, "job", f.on())
	for _, field := range []string{"scopes", "unmatched"} {
		require.Contains(t, e.json("PUT", "/", `{"spec":"all","`+field+`":[]}`).refused(400, wire.CodeBadField).Message, "only read in a whole State")
	}
	// Names of scopes are no names of groups.
	body := `{"generation":"x","spec":"strange","scopes":[{"name":"strange"}],"unmatched":[{"rule":"strange","nearest":"strange"}]}`
	e.json("PUT", "/", body).refused(400, wire.CodeUnknownName)
}

func TestScopesAreReadWhileTheyChange(t *testing.T) {
	var p program
	var n atomic.Uint64
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Gym, &gate))
	p.call(func() []control.Scope {
		return []control.Scope{{Name: fmt.Sprint(n.Load() % 2000), Sites: []control.Site{{Gate: &gate, Group: 1, Started: n.Add(1)}}}}
	})
	c, err := control.New(r, p.option())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	h := control.Handler(c)
	done := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 500 {
				c.State()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			}
		}()
	}
	for range 4 {
		<-done
	}
}
