// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the instruments of [Metrics].
type metrics struct {
	changes      metric.Int64Counter
	counted      sync.Map // *atomic.Int64 by ChangeKind: changes that have not been added to the counter
	registration metric.Registration
}

// register makes every collection of p read c, so that a change costs almost nothing more.
func (m *metrics) register(c *Controller, p metric.MeterProvider) error {
	meter := p.Meter("github.com/spangate/spangate/control")
	var err3 error
	on, err1 := meter.Int64ObservableGauge("spangate.group.on",
		metric.WithDescription("1 if the spans of the group exist, 0 if not"))
	leases, err2 := meter.Int64ObservableGauge("spangate.leases",
		metric.WithDescription("Live leases"), metric.WithUnit("{lease}"))
	m.changes, err3 = meter.Int64Counter("spangate.changes",
		metric.WithDescription("Changes of what is on, or of baseline, leases and limits"), metric.WithUnit("{change}"))
	dropped, err4 := meter.Int64ObservableCounter("spangate.changes.dropped",
		metric.WithDescription("Records of the change log that were dropped"), metric.WithUnit("{record}"))
	started, err5 := meter.Int64ObservableCounter("spangate.spans.started",
		metric.WithDescription("Spans that were started"), metric.WithUnit("{span}"))
	withheld, err6 := meter.Int64ObservableCounter("spangate.spans.withheld",
		metric.WithDescription("Spans that were not started because their group was off"), metric.WithUnit("{span}"))
	overrides, err7 := meter.Int64ObservableGauge("spangate.overrides",
		metric.WithDescription("Live overrides: traces that have more on than others"), metric.WithUnit("{override}"))
	begun, err8 := meter.Int64ObservableCounter("spangate.overrides.begun",
		metric.WithDescription("Overrides that leases gave to traces, or that came from other processes"), metric.WithUnit("{override}"))
	overridden, err9 := meter.Int64ObservableCounter("spangate.overrides.spans",
		metric.WithDescription("Spans that overrides have turned on"), metric.WithUnit("{span}"))
	sampled, err12 := meter.Int64ObservableCounter("spangate.overrides.sampled",
		metric.WithDescription("Spans that were sampled for overrides although the sampler dropped them"), metric.WithUnit("{span}"))
	cut, err10 := meter.Int64ObservableCounter("spangate.overrides.cut",
		metric.WithDescription("Overrides and spans that the budget of overrides has cut"))
	refused, err11 := meter.Int64ObservableCounter("spangate.overrides.refused",
		metric.WithDescription("Overrides of other processes that were refused"), metric.WithUnit("{override}"))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12); err != nil {
		return err
	}
	m.registration, err1 = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		v := c.view.Load()
		if v == nil { // New has not returned
			return nil
		}
		for _, name := range v.Groups() {
			var value int64
			if v.on(name) {
				value = 1
			}
			o.ObserveInt64(on, value, metric.WithAttributes(attribute.String("spangate.group", name)))
		}
		o.ObserveInt64(leases, int64(len(v.intent.leases)))
		o.ObserveInt64(dropped, c.queue.dropped.Load())
		n := c.countOverrides(v)
		o.ObserveInt64(overrides, int64(n.Live))
		o.ObserveInt64(begun, observable(n.Chosen), metric.WithAttributes(attribute.String("spangate.override.origin", "lease")))
		o.ObserveInt64(begun, observable(n.Received), metric.WithAttributes(attribute.String("spangate.override.origin", "process")))
		o.ObserveInt64(overridden, observable(n.Started))
		o.ObserveInt64(sampled, observable(n.Sampled))
		reasons := func(counter metric.Int64ObservableCounter, counts []Count) {
			for _, count := range counts {
				o.ObserveInt64(counter, observable(count.N), metric.WithAttributes(attribute.String("spangate.override.reason", count.Reason)))
			}
		}
		reasons(cut, n.Cut)
		reasons(refused, n.Refused)
		spans, _ := c.sample(0)
		for key, n := range byGroupAndScope(v.scopes(spans)) {
			attributes := []attribute.KeyValue{attribute.String("spangate.scope", key.scope)}
			if key.group != "" {
				attributes = append(attributes, attribute.String("spangate.group", key.group))
			}
			o.ObserveInt64(started, observable(n.Started), metric.WithAttributes(attributes...))
			if n.CountsWithheld {
				o.ObserveInt64(withheld, observable(n.Withheld), metric.WithAttributes(attributes...))
			}
		}
		m.flush()
		return nil
	}, on, leases, dropped, started, withheld, overrides, begun, overridden, sampled, cut, refused)
	return err1
}

// groupAndScope has the attributes of spans; group is empty for spans in no group.
type groupAndScope struct{ group, scope string }

func byGroupAndScope(scopes []ScopeInfo) map[groupAndScope]*Spans {
	spans := make(map[groupAndScope]*Spans)
	for _, scope := range scopes {
		for _, site := range scope.Sites {
			groups := site.Groups
			if len(groups) == 0 {
				groups = []string{""}
			}
			for _, group := range groups {
				key := groupAndScope{group, scope.Name}
				if spans[key] == nil {
					spans[key] = new(Spans)
				}
				spans[key].add(site.Spans)
			}
		}
	}
	return spans
}

// observable returns n, or the highest number that an instrument takes if n is above it.
func observable(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// count counts a change. It is called with the registry's lock held, under which the counter,
// which is the meter provider's code, must not be called: flush calls it later.
func (m *metrics) count(kind ChangeKind) {
	n, _ := m.counted.LoadOrStore(kind, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// flush adds the changes that were counted to the counter. It runs when the instruments are
// collected, so that each collection has every change that was made before it.
func (m *metrics) flush() {
	for kind, n := range m.counted.Range {
		made := n.(*atomic.Int64).Swap(0)
		m.changes.Add(context.Background(), made, metric.WithAttributes(attribute.String("spangate.change.kind", string(kind.(ChangeKind)))))
	}
}

func (m *metrics) unregister() error {
	err := m.registration.Unregister()
	m.flush() // last, since the counter may panic
	return err
}
