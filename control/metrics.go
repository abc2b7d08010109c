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
	var errs []error
	var observed []metric.Observable
	gauge := func(name, description, unit string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs, observed = append(errs, err), append(observed, g)
		return g
	}
	counter := func(name, description, unit string) metric.Int64ObservableCounter {
		c, err := meter.Int64ObservableCounter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs, observed = append(errs, err), append(observed, c)
		return c
	}
	on := gauge("spangate.group.on", "1 if the spans of the group exist, 0 if not", "")
	leases := gauge("spangate.leases", "Live leases", "{lease}")
	dropped := counter("spangate.changes.dropped", "Records of the change log that were dropped", "{record}")
	started := counter("spangate.spans.started", "Spans that were started", "{span}")
	withheld := counter("spangate.spans.withheld", "Spans that were not started because their group was off", "{span}")
	overrides := gauge("spangate.overrides", "Live overrides: traces that have more on than others", "{override}")
	begun := counter("spangate.overrides.begun", "Overrides that leases gave to traces, or that came from other processes", "{override}")
	overridden := counter("spangate.overrides.spans", "Spans that overrides have turned on", "{span}")
	sampled := counter("spangate.overrides.sampled", "Spans that were sampled for overrides although the sampler dropped them", "{span}")
	cut := counter("spangate.overrides.cut", "Overrides and spans that the budget of overrides has cut", "")
	refused := counter("spangate.overrides.refused", "Overrides of other processes that were refused", "{override}")
	var err error
	m.changes, err = meter.Int64Counter("spangate.changes",
		metric.WithDescription("Changes of what is on, or of baseline, leases and limits"), metric.WithUnit("{change}"))
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	m.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
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
	}, observed...)
	return err
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
