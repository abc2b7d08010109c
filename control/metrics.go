// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the instruments of [Metrics]. The zero value has none and does nothing.
type metrics struct {
	meter        metric.Meter
	on, leases   metric.Int64ObservableGauge
	changes      metric.Int64Counter
	dropped      metric.Int64ObservableCounter
	registration metric.Registration

	mu      sync.Mutex
	counted map[string]int64 // changes by kind that have not been added to the counter
}

// newMetrics returns the instruments of p, which may be nil.
func newMetrics(p metric.MeterProvider) (*metrics, error) {
	m := new(metrics)
	if p == nil {
		return m, nil
	}
	m.meter = p.Meter("github.com/spangate/spangate/control")
	var err1, err2, err3, err4 error
	m.on, err1 = m.meter.Int64ObservableGauge("spangate.group.on",
		metric.WithDescription("1 if the spans of the group exist, 0 if not"))
	m.leases, err2 = m.meter.Int64ObservableGauge("spangate.leases",
		metric.WithDescription("Live leases"), metric.WithUnit("{lease}"))
	m.changes, err3 = m.meter.Int64Counter("spangate.changes",
		metric.WithDescription("Changes of what is on or asked for"), metric.WithUnit("{change}"))
	m.dropped, err4 = m.meter.Int64ObservableCounter("spangate.changes.dropped",
		metric.WithDescription("Records of the change log that were dropped"), metric.WithUnit("{record}"))
	return m, errors.Join(err1, err2, err3, err4)
}

// observe makes every collection read c, so that the gauges cost a change nothing.
func (m *metrics) observe(c *Controller) (err error) {
	if m.meter == nil {
		return nil
	}
	m.registration, err = m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		v := c.view.Load()
		for _, name := range v.state.Groups() {
			var value int64
			if contains(v.enabled, name) {
				value = 1
			}
			o.ObserveInt64(m.on, value, metric.WithAttributes(attribute.String("spangate.group", name)))
		}
		o.ObserveInt64(m.leases, int64(len(v.wanted.leases)))
		o.ObserveInt64(m.dropped, c.log.dropped.Load())
		m.flush()
		return nil
	}, m.on, m.leases, m.dropped)
	return err
}

// count counts a change. It is called with the registry's lock held, under which the counter,
// which is the meter provider's code, must not be called: flush calls it later.
func (m *metrics) count(kind string) {
	if m.changes == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counted == nil {
		m.counted = make(map[string]int64)
	}
	m.counted[kind]++
}

// flush adds the changes that were counted to the counter. It runs when the instruments are
// collected, so that each collection has every change that was made before it.
func (m *metrics) flush() {
	m.mu.Lock()
	counted := m.counted
	m.counted = nil
	m.mu.Unlock()
	for kind, n := range counted {
		m.changes.Add(context.Background(), n, metric.WithAttributes(attribute.String("spangate.change.kind", kind)))
	}
}

func (m *metrics) unregister() error {
	m.flush()
	if m.registration == nil {
		return nil
	}
	return m.registration.Unregister()
}
