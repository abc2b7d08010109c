// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// collect returns the points of each metric, keyed by the values of their attributes.
func collect(t *testing.T, reader *sdkmetric.ManualReader) map[string]map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	got := map[string]map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		require.Equal(t, "github.com/spangate/spangate/control", scope.Scope.Name)
		for _, m := range scope.Metrics {
			require.NotEmpty(t, m.Description)
			var points []metricdata.DataPoint[int64]
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				points = data.DataPoints
			case metricdata.Sum[int64]:
				require.True(t, data.IsMonotonic)
				points = data.DataPoints
			default:
				t.Fatalf("%s is a %T", m.Name, data)
			}
			got[m.Name] = map[string]int64{}
			for _, p := range points {
				key := ""
				for _, name := range []attribute.Key{"spangate.group", "spangate.change.kind", "spangate.scope", "spangate.override.origin", "spangate.override.reason"} {
					if v, ok := p.Attributes.Value(name); ok {
						key = strings.TrimSpace(key + " " + v.AsString())
					}
				}
				got[m.Name][key] = p.Value
			}
		}
	}
	return got
}

func TestMetricsShowGroupsLeasesAndChanges(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Lens, &gate))
	c, err := control.New(r, control.Metrics(provider), control.StartupBaseline(control.Baseline{Spec: "job"}))
	require.NoError(t, err)

	got := collect(t, reader)
	require.Len(t, got["spangate.group.on"], 8)
	require.Equal(t, int64(1), got["spangate.group.on"]["job"])
	require.Equal(t, int64(0), got["spangate.group.on"]["step"])
	require.Equal(t, map[string]int64{"": 0}, got["spangate.leases"])
	require.Equal(t, map[string]int64{"baseline": 1}, got["spangate.changes"])
	require.Equal(t, map[string]int64{"": 0}, got["spangate.changes.dropped"])

	_, err = c.Lease(control.LeaseRequest{Owner: "test", Spec: "step", TTL: time.Hour})
	require.NoError(t, err)
	require.NoError(t, c.SetLimits(control.Limits{Deny: "job"}))
	require.NoError(t, r.Register(spangate.MustCatalog("late", []spangate.Group{{Name: "late", Bit: 1}}, nil), new(spangate.Gate)))
	got = collect(t, reader)
	require.Len(t, got["spangate.group.on"], 9)
	require.Equal(t, int64(0), got["spangate.group.on"]["job"])
	require.Equal(t, int64(1), got["spangate.group.on"]["step"])
	require.Equal(t, map[string]int64{"": 1}, got["spangate.leases"])
	require.Equal(t, map[string]int64{"baseline": 1, "lease": 1, "limits": 1, "namespaces": 1}, got["spangate.changes"])

	require.NoError(t, c.Close())
	got = collect(t, reader)
	require.Empty(t, got["spangate.group.on"], "a closed controller reports no gauges")
	require.Empty(t, got["spangate.leases"])
	require.Empty(t, got["spangate.changes.dropped"])
	require.Equal(t, int64(1), got["spangate.changes"]["close"])
}

func TestMetricsCountOverrides(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Gym, &gate))
	c, err := control.New(r, control.Metrics(provider), control.AdmitOverrides(nil), control.OverrideBudget(control.Budget{SpansPerTrace: 2}))
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Lease(control.LeaseRequest{Owner: "test", Spec: "sandbox", Share: 1, TTL: time.Hour})
	require.NoError(t, err)
	o := c.Begin([16]byte{1}, "")
	require.True(t, o.On(&gate, spangate.BitSandbox))
	require.True(t, o.Sample())
	require.False(t, o.On(&gate, spangate.BitSandbox))
	require.Nil(t, c.Admit(spangate.OverrideName{ID: "late", Spec: "all"}))
	got := collect(t, reader)
	require.Equal(t, map[string]int64{"": 1}, got["spangate.overrides"])
	require.Equal(t, map[string]int64{"lease": 1, "process": 0}, got["spangate.overrides.begun"])
	require.Equal(t, map[string]int64{"": 1}, got["spangate.overrides.spans"])
	require.Equal(t, map[string]int64{"": 1}, got["spangate.overrides.sampled"])
	require.Equal(t, map[string]int64{"spans per trace": 1}, got["spangate.overrides.cut"])
	require.Equal(t, map[string]int64{"expired": 1}, got["spangate.overrides.refused"])
}

func TestMetricsCountSpansByGroupAndScope(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	r := registry.New()
	var gate spangate.Gate
	require.NoError(t, r.Register(spangate.Lens, &gate))
	sql, failing := []control.Site{
		{Kind: "client", Gate: &gate, Group: spangate.BitStep | spangate.BitJob, Started: 3, Withheld: 2, CountsWithheld: true},
		{Gate: &gate, Group: spangate.BitStep, Started: 4},
		{Gate: &gate, Group: 1 << 40, Started: 9},
	}, false
	c, err := control.New(r, control.Metrics(provider), control.Scopes(func() ([]control.Scope, []control.UnmatchedRule) {
		if failing {
			panic("no scopes")
		}
		return []control.Scope{{Name: "sql", Sites: sql}, {Name: "raw", Sites: []control.Site{{Started: math.MaxUint64}}}}, nil
	}))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	got := collect(t, reader)
	require.Equal(t, map[string]int64{"job sql": 3, "step sql": 7, "0x10000000000 sql": 9, "raw": math.MaxInt64}, got["spangate.spans.started"])
	require.Equal(t, map[string]int64{"job sql": 2, "step sql": 2}, got["spangate.spans.withheld"])
	sql[1].Started++
	require.Equal(t, int64(8), collect(t, reader)["spangate.spans.started"]["step sql"], "a collection is not behind")
	failing = true
	require.Equal(t, int64(8), collect(t, reader)["spangate.spans.started"]["step sql"], "the counts before the panic")
}

func TestMetricsCountChangesAndThoseDroppedWhileACallbackBlocks(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	blocked := make(chan struct{})
	var calls atomic.Int64
	c, err := control.New(registry.New(), control.Metrics(provider), control.OnChange(func(control.Change) { <-blocked; calls.Add(1) }))
	require.NoError(t, err)
	made := int64(1)
	for collect(t, reader)["spangate.changes.dropped"][""] == 0 {
		require.Less(t, made, int64(100_000), "the queue is not bounded")
		for range 1000 {
			require.NoError(t, c.SetBaseline(control.Baseline{}))
			made++
		}
	}
	got := collect(t, reader)
	require.Equal(t, map[string]int64{"baseline": made}, got["spangate.changes"])
	dropped := got["spangate.changes.dropped"][""]
	close(blocked)
	require.Eventually(t, func() bool { // until the queue has room
		before := collect(t, reader)["spangate.changes.dropped"][""]
		require.NoError(t, c.SetLimits(control.Limits{}))
		after := collect(t, reader)["spangate.changes.dropped"][""]
		if made++; after > before {
			dropped++
		}
		return after == before
	}, 10*time.Second, 10*time.Millisecond)
	delivered := func() bool { return calls.Load() == made-dropped }
	require.Eventually(t, delivered, 10*time.Second, time.Millisecond, "%d changes, %d dropped", made, dropped)
	require.NoError(t, c.Close()) // the queue has room for this change too
	made++
	require.Eventually(t, delivered, 10*time.Second, time.Millisecond, "%d changes, %d dropped", made, dropped)
}

func TestCloseIsCountedWhileACallbackBlocks(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	blocked := make(chan struct{})
	defer close(blocked)
	c, err := control.New(registry.New(), control.Metrics(provider), control.OnChange(func(control.Change) { <-blocked }))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, map[string]int64{"baseline": 1, "close": 1}, collect(t, reader)["spangate.changes"])
}

func TestErrorOfTheMeterIsAnErrorOfNew(t *testing.T) {
	for _, p := range []metric.MeterProvider{failing{}, failing{callback: true}} {
		r := registry.New()
		r.SetSpec("job")
		before := r.State()
		_, err := control.New(r, control.Metrics(p))
		require.ErrorIs(t, err, errMeter)
		require.Equal(t, before, r.State())
		c, err := control.New(r)
		require.NoError(t, err, "the registry has no controller")
		require.NoError(t, c.Close())
	}
}

var errMeter = errors.New("no instruments")

// failing is a meter provider whose meter makes no counter, or registers no callback.
type failing struct {
	noop.MeterProvider
	callback bool
}

func (f failing) Meter(string, ...metric.MeterOption) metric.Meter {
	return failingMeter{callback: f.callback}
}

type failingMeter struct {
	noop.Meter
	callback bool
}

func (m failingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if m.callback {
		return noop.Int64Counter{}, nil
	}
	return noop.Int64Counter{}, errMeter
}

func (m failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return nil, errMeter
}

func TestCloseUnregistersTheCallbackOfACounterThatPanics(t *testing.T) {
	m := new(panickingMeter)
	c, err := control.New(registry.New(), control.Metrics(provider{meter: m}))
	require.NoError(t, err)
	require.Panics(t, func() { _ = c.Close() })
	require.True(t, m.unregistered)
}

type provider struct {
	noop.MeterProvider
	meter metric.Meter
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return p.meter }

// panickingMeter is a meter with a counter that panics.
type panickingMeter struct {
	noop.Meter
	noop.Registration
	unregistered bool
}

func (m *panickingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return panickingCounter{}, nil
}

func (m *panickingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return m, nil
}

func (m *panickingMeter) Unregister() error {
	m.unregistered = true
	return nil
}

type panickingCounter struct{ noop.Int64Counter }

func (panickingCounter) Add(context.Context, int64, ...metric.AddOption) { panic("full") }
