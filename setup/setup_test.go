// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package setup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

// TestMain checks, after all tests, that Close and a refused New have left no goroutine.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

const (
	otelhttp = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	otelsql  = "github.com/XSAM/otelsql"
)

// fixture is a program that uses the package, on an SDK that exports into memory.
type fixture struct {
	*setup.Parts
	exported *tracetest.InMemoryExporter
}

// newFixture makes a fixture with its own registry, unless opts has another.
func newFixture(t *testing.T, opts ...setup.Option) fixture {
	t.Helper()
	exported := tracetest.NewInMemoryExporter()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported))
	t.Cleanup(func() { assert.NoError(t, sdk.Shutdown(context.Background())) })
	parts, err := setup.New(sdk, append([]setup.Option{setup.Registry(registry.New())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, parts.Close()) })
	return fixture{parts, exported}
}

// span starts and ends a span of this scope, and reports whether it was exported.
func (f fixture) span(scope string, opts ...trace.SpanStartOption) bool {
	f.exported.Reset()
	_, span := f.TracerProvider.Tracer(scope).Start(context.Background(), "span", opts...)
	span.End()
	return len(f.exported.GetSpans()) == 1
}

func (f fixture) request(t *testing.T, method, path, token string, form url.Values) (int, wire.State) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	var state wire.State
	if w.Code == http.StatusOK {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &state))
	}
	return w.Code, state
}

func TestEverySpanIsOnWithoutOptions(t *testing.T) {
	f := newFixture(t)
	require.True(t, f.span(otelhttp))
	require.True(t, f.span(otelsql))
	require.True(t, f.span(""))
	var state wire.State
	require.Eventually(t, func() bool { // the endpoint looks at the scopes once a second
		code, answer := f.request(t, http.MethodGet, "/", "", nil)
		state = answer
		return code == http.StatusOK && len(state.Scopes) == 3
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, []string{"otelhttp", "otelsql", "tracer"}, state.Enabled)
	require.Empty(t, state.Pending)
	require.Equal(t, "default", state.Baseline.Spec)
	require.Equal(t, otelsql, state.Scopes[0].Name)
	require.Equal(t, "1", state.Scopes[0].Spans.Started)
	require.Equal(t, []wire.Site{{Groups: []string{"otelsql"}, On: true, Spans: state.Scopes[0].Spans}}, state.Scopes[0].Sites)
	require.Equal(t, "1", state.Groups[0].Spans.Started)
	require.Empty(t, state.Unmatched)
}

func TestLeaseWithTheTokenQuietsALibrary(t *testing.T) {
	f := newFixture(t, setup.Token("secret"), setup.CountWithheld())
	require.True(t, f.span(otelsql))
	lease := url.Values{"quiet": {"otelsql"}, "ttl": {"10m"}, "owner": {"me"}}
	code, _ := f.request(t, http.MethodPost, "/leases", "", lease)
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = f.request(t, http.MethodPost, "/leases", "secret", lease)
	require.Equal(t, http.StatusCreated, code)
	require.False(t, f.span(otelsql))
	require.True(t, f.span(otelhttp))
	state := f.Controller.State()
	require.Equal(t, []string{"otelsql"}, state.Roots, "the spans that it starts begin traces")
	require.Equal(t, otelsql, state.Scopes[0].Name)
	require.EqualValues(t, 1, state.Scopes[0].Spans.Started)
	require.EqualValues(t, 1, state.Scopes[0].Spans.Withheld)
	require.True(t, state.Scopes[0].Spans.CountsWithheld)
}

func TestEndpointWithoutATokenRefusesChanges(t *testing.T) {
	f := newFixture(t)
	code, _ := f.request(t, http.MethodPut, "/", "", url.Values{"spec": {"-all"}})
	require.Equal(t, http.StatusForbidden, code)
}

func TestGroupsOfRulesAreInDefault(t *testing.T) {
	f := newFixture(t, setup.RulesText("# all SQL\n"+otelsql+"* client = sql,db\nexample.com/sql = sql\nexample.com/none = none\n"))
	client := trace.WithSpanKind(trace.SpanKindClient)
	require.True(t, f.span(otelsql+"/v2", client))
	require.True(t, f.span("example.com/sql"))
	require.NoError(t, f.Controller.SetBaseline(control.Baseline{Spec: "default,-sql"}))
	require.True(t, f.span(otelsql+"/v2", client), "db is on")
	require.False(t, f.span("example.com/sql"))
	require.NoError(t, f.Controller.SetBaseline(control.Baseline{Spec: "default,-sql,-db"}))
	require.False(t, f.span(otelsql+"/v2", client))
	require.True(t, f.span(otelsql+"/v2"), "no rule is for internal spans of the scope")

	state := f.Controller.State()
	require.Equal(t, []control.UnmatchedRule{{Rule: "example.com/none = none"}}, state.Unmatched)
	require.Equal(t, "example.com/sql = sql", state.Scopes[0].Sites[0].Rule)
	site := state.Scopes[1].Sites[0]
	require.Equal(t, otelsql+"* client = sql,db", site.Rule)
	require.Equal(t, "client", site.Kind)
	require.Equal(t, []string{"db", "sql"}, site.Groups)
	for _, g := range state.Groups {
		if g.Name == "sql" {
			require.Equal(t, otelsql+"* client, example.com/sql", g.Members[0].Doc)
		}
	}
}

func TestReadyRulesThatMatchNoScopeAreNotReported(t *testing.T) {
	f := newFixture(t, setup.ReadyRules(otelgate.LibraryRules()))
	require.True(t, f.span(otelsql))
	state := f.Controller.State()
	require.Empty(t, state.Unmatched)
	require.Equal(t, []string{"sql"}, state.Scopes[0].Sites[0].Groups)
}

func TestRulesDecideInTheOrderOfTheOptions(t *testing.T) {
	rules, err := otelgate.ParseRules(otelsql + " = first")
	require.NoError(t, err)
	f := newFixture(t, setup.Rules(rules), setup.ReadyRules(otelgate.LibraryRules()))
	f.span(otelsql)
	require.Equal(t, []string{"first"}, f.Controller.State().Scopes[0].Sites[0].Groups)
}

func TestProgramHasGroupsOfItsOwn(t *testing.T) {
	gate := new(spangate.Gate)
	f := newFixture(t,
		setup.Catalog(spangate.Gym, gate),
		setup.Provider(otelgate.Rule{Scope: "example.com/sandbox", Group: spangate.BitSandbox}),
		setup.RulesText("example.com/verify = verify\nexample.com/new = new\n"))
	require.Equal(t, "job,server,http_client,rollout", spangate.Gym.Format(gate.Load()))
	require.False(t, f.span("example.com/sandbox"), "the provider's gate is that of the catalog, in whose default sandbox is not")
	require.False(t, f.span("example.com/verify"), "nor is verify, which the rules' namespace has too")
	require.True(t, f.span("example.com/new"))
	require.NoError(t, f.Controller.SetBaseline(control.Baseline{Spec: "sandbox,verify"}))
	require.True(t, f.span("example.com/sandbox"))
	require.True(t, f.span("example.com/verify"))
	require.Equal(t, "verify,sandbox", spangate.Gym.Format(gate.Load()))
	require.Equal(t, "example.com/sandbox = sandbox", f.Controller.State().Scopes[1].Sites[0].Rule)
}

func TestProviderOptionReplacesDiscovery(t *testing.T) {
	f := newFixture(t, setup.Provider(otelgate.Discover(func(string) (*spangate.Gate, spangate.Mask) { return nil, 0 })))
	require.True(t, f.span(otelsql))
	require.Empty(t, f.Registry.Groups())
	require.Empty(t, f.Controller.State().Scopes[0].Sites[0].Groups)
}

func TestStateIsReadWhileScopesAreDiscoveredAndCounted(t *testing.T) {
	f := newFixture(t, setup.ReadyRules(otelgate.LibraryRules()))
	const scopes = 50
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range scopes {
				_, span := f.TracerProvider.Tracer(fmt.Sprint("example.com/lib", i)).Start(context.Background(), "span")
				span.End()
				f.Controller.State()
			}
		})
	}
	all.Wait()
	state := f.Controller.State()
	require.Len(t, state.Scopes, scopes)
	for _, scope := range state.Scopes {
		require.EqualValues(t, 4, scope.Spans.Started, scope.Name)
		require.Len(t, scope.Sites[0].Groups, 1)
		require.True(t, scope.Sites[0].On)
	}
}

func TestEnvironmentFileAndControlOptionsInTheirOrder(t *testing.T) {
	t.Setenv("SETUPTEST_ENABLED", "1")
	t.Setenv("SETUPTEST_SPAN_GROUPS", "default,-otelsql")
	f := newFixture(t, setup.Environment("SETUPTEST"))
	require.True(t, f.span(otelhttp))
	require.False(t, f.span(otelsql))
	require.Equal(t, "SETUPTEST_SPAN_GROUPS", f.Controller.State().Baseline.Why)

	path := filepath.Join(t.TempDir(), "spans")
	f = newFixture(t, setup.Environment("SETUPTEST"), setup.File(path, control.Interval(time.Millisecond)))
	require.False(t, f.span(otelsql), "there is no file yet")
	require.NoError(t, os.WriteFile(path, []byte("otelsql\n"), 0o600))
	require.Eventually(t, func() bool { return f.span(otelsql) && !f.span(otelhttp) }, time.Minute, time.Millisecond)

	f = newFixture(t, setup.Environment("SETUPTEST"), setup.Control(control.StartupBaseline(control.Baseline{Spec: "otelsql"})))
	require.True(t, f.span(otelsql))
	require.False(t, f.span(otelhttp))
}

func TestEnvironmentWithoutVariablesHasEverythingOff(t *testing.T) {
	f := newFixture(t, setup.Environment("SETUPTEST"))
	require.False(t, f.span(otelhttp))
	require.Contains(t, f.Controller.State().Baseline.Why, "SETUPTEST_ENABLED")
}

func TestNewLogsNoWarning(t *testing.T) {
	log := logged(t, slog.LevelWarn, func() {
		f := newFixture(t, setup.ReadyRules(otelgate.LibraryRules()))
		f.span(otelhttp)
		f.span("example.com/new")
		require.NoError(t, f.Close()) // waits for the change log
	})
	require.Empty(t, log)
}

func TestRegistryIsTheDefaultOneUnlessGiven(t *testing.T) {
	f := newFixture(t, setup.Registry(registry.Default()), setup.Registry(nil))
	require.Same(t, registry.Default(), f.Registry)
	_, err := setup.New(sdktrace.NewTracerProvider(), nil)
	require.ErrorIs(t, err, registry.ErrNamespaceTaken)
	require.ErrorContains(t, err, "another registry")
	require.Equal(t, []string{"rules"}, f.Registry.Namespaces())
	require.NoError(t, f.Close())
	parts, err := setup.New(sdktrace.NewTracerProvider())
	require.NoError(t, err)
	require.NoError(t, parts.Close())
	require.Empty(t, registry.Default().Namespaces())
}

func TestCloseUndoesWhatNewDid(t *testing.T) {
	gate := new(spangate.Gate)
	r := registry.New()
	path := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, os.WriteFile(path, []byte("all\n"), 0o600))
	opts := []setup.Option{
		setup.Registry(r), setup.Catalog(spangate.Gym, gate), setup.RulesText("example.com/sql = sql"),
		setup.File(path),
	}
	for range 2 { // the second time shows that nothing is left
		f := newFixture(t, opts...)
		require.True(t, f.span("example.com/sql"))
		require.True(t, f.span(otelhttp))
		require.True(t, gate.On(spangate.BitSandbox))
		require.NoError(t, f.Close())
		require.NoError(t, f.Close(), "a second Close does nothing")
		require.Equal(t, []string{"scopes"}, r.Namespaces())
		require.Zero(t, gate.Load())
		require.False(t, f.span("example.com/sql"))
		require.True(t, f.span(otelhttp), "discovered scopes stay as they are")
		require.True(t, f.span("example.com/new"))
		require.ErrorIs(t, f.Controller.SetBaseline(control.Baseline{}), control.ErrClosed)
	}
}

func TestNilAndEmptyOptionsHaveNoEffect(t *testing.T) {
	f := newFixture(t, nil, setup.Registry(nil), setup.Rules(nil), setup.RulesText(" \n"), setup.ReadyRules(nil), setup.File(""),
		setup.Token(""), setup.Provider(nil), setup.Provider(), setup.Control(nil), setup.Handler(nil))
	require.True(t, f.span(otelhttp))
	require.Equal(t, []string{"rules", "scopes"}, f.Registry.Namespaces())
	code, _ := f.request(t, http.MethodPut, "/", "", url.Values{"spec": {"-all"}})
	require.Equal(t, http.StatusUnauthorized, code, "a blank token allows no request")
}

func TestNilAndZeroPartsCloseWithoutError(t *testing.T) {
	require.NoError(t, (*setup.Parts)(nil).Close())
	require.NoError(t, new(setup.Parts).Close())
}

func TestRefusedNewLeavesNothingBehind(t *testing.T) {
	t.Setenv("SETUPTEST_ENABLED", "perhaps")
	sdk := sdktrace.NewTracerProvider()
	taken := new(spangate.Gate)
	elsewhere := registry.New()
	require.NoError(t, elsewhere.Register(spangate.Lens, taken))
	var many strings.Builder
	for i := range spangate.MaxGroups + 1 {
		many.WriteString("example.com/" + strings.Repeat("x", i) + " = g" + strings.Repeat("x", i%60) + string(rune('a'+i/60)) + "\n")
	}
	for name, tt := range map[string]struct {
		base trace.TracerProvider
		opts []setup.Option
		err  error
		text string
	}{
		"nil base":        {nil, nil, otelgate.ErrNilProvider, ""},
		"placeholder":     {otel.GetTracerProvider(), nil, otelgate.ErrPlaceholder, ""},
		"environment":     {sdk, []setup.Option{setup.Environment("SETUPTEST")}, nil, "SETUPTEST_ENABLED=perhaps"},
		"rules":           {sdk, []setup.Option{setup.RulesText("a = b\nc d e = f")}, otelgate.ErrInvalidRule, "line 2"},
		"65 groups":       {sdk, []setup.Option{setup.RulesText(many.String())}, spangate.ErrTooManyGroups, "rules"},
		"group default":   {sdk, []setup.Option{setup.RulesText("a = default")}, spangate.ErrDuplicateName, `"default"`},
		"group all":       {sdk, []setup.Option{setup.RulesText("a = all")}, spangate.ErrReservedName, ""},
		"nil catalog":     {sdk, []setup.Option{setup.Catalog(nil, new(spangate.Gate))}, otelgate.ErrInvalidOption, ""},
		"nil gate":        {sdk, []setup.Option{setup.Catalog(spangate.Gym, nil)}, otelgate.ErrNilGate, ""},
		"second nil gate": {sdk, []setup.Option{setup.Catalog(spangate.Gym, new(spangate.Gate)), setup.Catalog(spangate.Lens, nil)}, registry.ErrNilGate, ""},
		"gate elsewhere":  {sdk, []setup.Option{setup.Catalog(spangate.Gym, new(spangate.Gate)), setup.Catalog(spangate.Lens, taken)}, registry.ErrGateElsewhere, ""},
		"unknown bit":     {sdk, []setup.Option{setup.Catalog(spangate.Gym, new(spangate.Gate)), setup.Provider(otelgate.Rule{Group: 1 << 60})}, otelgate.ErrInvalidRule, ""},
		"control option":  {sdk, []setup.Option{setup.Control(control.MaxLeases(-1))}, nil, "MaxLeases(-1)"},
		"watch option":    {sdk, []setup.Option{setup.File("spans", control.Interval(-1))}, nil, "Interval(-1ns)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New()
			parts, err := setup.New(tt.base, append(tt.opts, setup.Registry(r))...)
			require.Error(t, err)
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
			}
			require.ErrorContains(t, err, tt.text)
			require.Nil(t, parts)
			require.Empty(t, r.Namespaces())
			again, err := control.New(r)
			require.NoError(t, err, "no controller is left")
			require.NoError(t, again.Close())
		})
	}
}

// TestTraceOfACustomerIsInDetailInBothProcesses pins the way from a lease in one process to the spans of
// another, and that what a stranger sends has no effect.
func TestTraceOfACustomerIsInDetailInBothProcesses(t *testing.T) {
	base := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	key := []byte("0123456789abcdef0123456789abcdef")
	quiet := setup.Control(control.StartupBaseline(control.Baseline{Spec: "default,-verify"}))
	rules := setup.RulesText("verify = verify")
	front := newFixture(t, rules, quiet, setup.Overrides(base, otelgate.Keys(key)))
	back := newFixture(t, rules, quiet, setup.Overrides(base, otelgate.Keys(key)))
	work := func(ctx context.Context, f fixture) context.Context {
		ctx, span := f.TracerProvider.Tracer("verify").Start(ctx, "verify")
		defer span.End()
		return ctx
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		work(back.Propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), back)
	}))
	defer server.Close()
	request := func(customer string, header http.Header) {
		ctx := front.Propagator.Extract(t.Context(), propagation.HeaderCarrier(header))
		ctx = work(front.Controller.Offer(ctx, func(string) string { return customer }), front)
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		require.NoError(t, err)
		front.Propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
		resp, err := server.Client().Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	_, err := front.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Match: "customer=42", TTL: time.Minute})
	require.NoError(t, err)
	request("43", http.Header{"Baggage": {"spangate=1.abc.99999999999..all"}})
	request("43", http.Header{"Baggage": {fmt.Sprintf("spangate=1.abc.%d..all", time.Now().Add(time.Minute).Unix())}})
	require.Empty(t, front.exported.GetSpans())
	require.Empty(t, back.exported.GetSpans())
	require.Equal(t, []control.Count{{Reason: "too far ahead", N: 1}, {Reason: "untrusted", N: 1}}, front.Controller.State().Overrides.Refused)

	request("42", nil)
	one, two := front.exported.GetSpans(), back.exported.GetSpans()
	require.Len(t, one, 1)
	require.Len(t, two, 1)
	require.Equal(t, one[0].SpanContext.TraceID(), two[0].SpanContext.TraceID())
	require.Equal(t, one[0].SpanContext.SpanID(), two[0].Parent.SpanID())
	require.Equal(t, one[0].Attributes, two[0].Attributes)
	require.EqualValues(t, 1, back.Controller.State().Overrides.Received)

	_, err = back.Controller.Lease(control.LeaseRequest{Owner: "bob", Spec: "verify", Share: 1, TTL: time.Minute})
	require.NoError(t, err)
	request("43", nil)
	require.Len(t, front.exported.GetSpans(), 1)
	require.Len(t, back.exported.GetSpans(), 2, "a share needs no call of the program")
}

// TestClientThatChoosesTraceIDsGetsNoShare pins that a share is drawn for traces that begin in the process.
func TestClientThatChoosesTraceIDsGetsNoShare(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		opts := []setup.Option{setup.RulesText("verify = verify"), setup.Control(control.StartupBaseline(control.Baseline{Spec: "default,-verify"}))}
		if trusted {
			opts = append(opts, setup.Provider(otelgate.RemoteShares()))
		}
		f := newFixture(t, opts...)
		_, err := f.Controller.Lease(control.LeaseRequest{Owner: "ann", Spec: "verify", Share: 0.001, TTL: time.Minute})
		require.NoError(t, err)
		for i := range 50 {
			h := http.Header{"Traceparent": {fmt.Sprintf("00-%016xffffffff%08x-%016x-01", i+1, i, i+1)}}
			ctx := propagation.TraceContext{}.Extract(t.Context(), propagation.HeaderCarrier(h))
			_, span := f.TracerProvider.Tracer("verify").Start(ctx, "verify")
			span.End()
		}
		if trusted {
			require.Len(t, f.exported.GetSpans(), 50)
		} else {
			require.Empty(t, f.exported.GetSpans())
		}
	}
}

func TestOverridesWithoutABaseAreRefused(t *testing.T) {
	_, err := setup.New(sdktrace.NewTracerProvider(), setup.Registry(registry.New()), setup.Overrides(nil))
	require.ErrorIs(t, err, otelgate.ErrNilPropagator)
	f := newFixture(t, setup.Overrides(propagation.TraceContext{}))
	require.False(t, f.Controller.State().Overrides.Admitted, "without a key or a predicate")
}

// logged calls fn and returns the records of at least this level that slog.Default got meanwhile.
func logged(t *testing.T, level slog.Level, fn func()) string {
	t.Helper()
	var text lockedBuffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level})))
	fn()
	return text.String()
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestEnvironmentThatDoesNotEnableSpansIsAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, os.WriteFile(file, []byte("default\n"), 0o644))
	for name, test := range map[string]struct {
		env  map[string]string
		opts []setup.Option
		why  string // "" for no warning
	}{
		"nothing is set": {nil, nil, "every span is off; set SHOP_OTEL_ENABLED=1"},
		"groups are set": {map[string]string{"SHOP_OTEL_SPAN_GROUPS": "default"}, nil,
			"every span is off and SHOP_OTEL_SPAN_GROUPS is ignored; set SHOP_OTEL_ENABLED=1"},
		"another name":         {map[string]string{"SHOP_OTEL": "default", "SHOP_OTEL_ENABLE": "1"}, nil, "set SHOP_OTEL_ENABLED=1"},
		"enabled":              {map[string]string{"SHOP_OTEL_ENABLED": "1"}, nil, ""},
		"off on purpose":       {map[string]string{"SHOP_OTEL_ENABLED": "0"}, nil, ""},
		"the file is in force": {nil, []setup.Option{setup.File(file)}, ""},
		"the file is missing":  {nil, []setup.Option{setup.File(file + "x")}, "every span is off; set SHOP_OTEL_ENABLED=1"},
		"the code decides":     {nil, []setup.Option{setup.Control(control.StartupBaseline(control.Baseline{Spec: "default"}))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"SHOP_OTEL_ENABLED", "SHOP_OTEL_SPAN_GROUPS", control.EnvGymEnabled, control.EnvLensEnabled, control.EnvSDKDisabled} {
				t.Setenv(variable, "")
			}
			for variable, value := range test.env {
				t.Setenv(variable, value)
			}
			log := logged(t, slog.LevelWarn, func() {
				f := newFixture(t, append(test.opts, setup.Environment("SHOP_OTEL"))...)
				require.Equal(t, test.why == "" && test.env["SHOP_OTEL_ENABLED"] != "0", f.span(otelsql))
				require.NoError(t, f.Close())
			})
			if test.why == "" {
				require.Empty(t, log)
				return
			}
			require.Contains(t, log, "the environment does not enable spans, so every span is off")
			require.Contains(t, log, test.why)
		})
	}
}

func TestBlankTokenIsAWarning(t *testing.T) {
	for token, want := range map[string]int{"": 1, " \n": 1, "secret": 0} {
		log := logged(t, slog.LevelWarn, func() { require.NoError(t, newFixture(t, setup.Token(token)).Close()) })
		require.Equal(t, want, strings.Count(log, "setup.Token has a blank token"), "%q: %s", token, log)
		require.Equal(t, want, strings.Count(log, "\n"), log)
	}
}

func TestRightSpecLogsNoWarning(t *testing.T) {
	log := logged(t, slog.LevelWarn, func() {
		f := newFixture(t, setup.RulesText("example.com/cache* = cache"), setup.Control(control.StartupBaseline(control.Baseline{Spec: "default,-otelsql,-cache"})))
		f.span(otelhttp)
		f.span(otelsql)
		require.NoError(t, f.Close())
	})
	require.Empty(t, log)
}

func TestMisspeltLibraryIsAWarningWithTheNearestName(t *testing.T) {
	log := logged(t, slog.LevelWarn, func() {
		f := newFixture(t, setup.Control(control.StartupBaseline(control.Baseline{Spec: "default,-otelsq"})))
		f.span(otelhttp)
		f.span(otelsql)
		require.NoError(t, f.Close())
	})
	require.Contains(t, log, "nearest=map[otelsq:otelsql]")
	require.Equal(t, 1, strings.Count(log, "\n"), log)
}

func TestCloseLogsNoWarning(t *testing.T) {
	gate := new(spangate.Gate)
	for _, opts := range [][]setup.Option{nil, {setup.RulesText("x = x")}, {setup.Catalog(spangate.Gym, gate)}} {
		log := logged(t, slog.LevelInfo, func() { require.NoError(t, newFixture(t, opts...).Close()) })
		require.NotContains(t, log, "registered")
		require.NotContains(t, log, "WARN")
	}
}

// program is the catalog of a program with a group that is not in preset default.
var program = spangate.MustCatalog("program", []spangate.Group{{Name: "a", Bit: 1}, {Name: "b", Bit: 2}}, []spangate.Preset{{Name: "default", Mask: 1}})

func TestRefusedNewChangesNothingInTheRegistry(t *testing.T) {
	taken := new(spangate.Gate)
	elsewhere := registry.New()
	require.NoError(t, elsewhere.Register(spangate.Lens, taken))
	for name, opts := range map[string][]setup.Option{
		"watch option":   {setup.File("spans", control.Interval(-1))},
		"control option": {setup.Control(control.MaxLeases(-1))},
		"baseline":       {setup.Control(control.StartupBaseline(control.Baseline{Spec: "a b"}))},
		"meter provider": {setup.Control(control.Metrics((*nilMeters)(nil)))},
		"gate elsewhere": {setup.Catalog(spangate.Lens, taken)},
		"group all":      {setup.RulesText("x = all")},
		"namespace":      {setup.Catalog(spangate.MustCatalog("rules", nil, nil), new(spangate.Gate))},
	} {
		t.Run(name, func(t *testing.T) {
			r, gate, replacement := registry.New(), new(spangate.Gate), new(spangate.Gate)
			require.NoError(t, r.Register(program, gate))
			r.SetSpec("b")
			generation := r.State().Generation()
			_, err := setup.New(sdktrace.NewTracerProvider(), append([]setup.Option{setup.Registry(r), setup.Catalog(program, replacement, registry.Override())}, opts...)...)
			require.Error(t, err)
			require.Equal(t, generation, r.State().Generation())
			require.Equal(t, []string{"program"}, r.Namespaces())
			require.True(t, gate.On(2))
			require.NoError(t, registry.New().Register(program, replacement), "its gate is free")
		})
	}
	t.Run("second New", func(t *testing.T) {
		f := newFixture(t, setup.Catalog(program, new(spangate.Gate)), setup.RulesText("example.com/sql = sql"))
		state := f.Controller.State()
		_, err := setup.New(sdktrace.NewTracerProvider(), setup.Registry(f.Registry), setup.Catalog(program, new(spangate.Gate), registry.Override()))
		require.Error(t, err)
		require.Equal(t, state.Generation, f.Controller.State().Generation)
	})
}

// nilMeters is a meter provider that package control refuses if it is nil.
type nilMeters struct{ metric.MeterProvider }

func TestCloseLeavesWhatTheProgramHasReplaced(t *testing.T) {
	f := newFixture(t, setup.Catalog(program, new(spangate.Gate)))
	theirs := new(spangate.Gate)
	require.NoError(t, f.Registry.Register(program, theirs, registry.Override()))
	require.True(t, theirs.On(1))
	require.NoError(t, f.Close())
	require.True(t, theirs.On(1))
	require.Equal(t, []string{"program"}, f.Registry.Namespaces())
}

func TestPresetsOfACatalogDecideForARuleWhicheverIsRegisteredFirst(t *testing.T) {
	sql := spangate.MustCatalog("program", []spangate.Group{{Name: "sql", Bit: 1}}, []spangate.Preset{{Name: "default"}})
	for _, first := range []bool{true, false} {
		r, gate := registry.New(), new(spangate.Gate)
		if first {
			require.NoError(t, r.Register(sql, gate))
		}
		f := newFixture(t, setup.Registry(r), setup.RulesText("example.com/sql = sql"))
		if !first {
			require.True(t, f.span("example.com/sql"))
			require.NoError(t, r.Register(sql, gate, registry.Shared()))
		}
		require.False(t, f.span("example.com/sql"))
		require.False(t, gate.On(1))
	}
}

func TestScopeWithTheNameOfADetailGroupDoesNotTurnItOn(t *testing.T) {
	f := newFixture(t, setup.Catalog(spangate.Gym, new(spangate.Gate)))
	detail := f.TracerProvider.Group(spangate.BitVerify).Tracer("app")
	f.span("github.com/other/verify")
	_, span := detail.Start(context.Background(), "detail")
	span.End()
	require.Empty(t, f.exported.GetSpans())
}

func TestNoSpanStartsWhileEverythingIsOff(t *testing.T) {
	f := newFixture(t, setup.Environment("SETUPTEST"))
	const goroutines = 8
	start := make(chan struct{})
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			<-start
			for i := range 200 {
				_, span := f.TracerProvider.Tracer(fmt.Sprint("lib/", i)).Start(context.Background(), "span")
				span.End()
			}
		})
	}
	close(start)
	all.Wait()
	require.Empty(t, f.exported.GetSpans())
}
