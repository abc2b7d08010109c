// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the instruments of [Metrics]. The zero value has none and does nothing.
type metrics struct {
	meter        metric.Meter
	on, leases   metric.Int64ObservableGauge
	changes      metric.Int64Counter
	registration metric.Registration
}

// newMetrics returns the instruments of p, which may be nil.
func newMetrics(p metric.MeterProvider) (metrics, error) {
	if p == nil {
		return metrics{}, nil
	}
	m := metrics{meter: p.Meter("github.com/spangate/spangate/control")}
	var err1, err2, err3 error
	m.on, err1 = m.meter.Int64ObservableGauge("spangate.group.on",
		metric.WithDescription("1 if the spans of the group exist, 0 if not"))
	m.leases, err2 = m.meter.Int64ObservableGauge("spangate.leases",
		metric.WithDescription("Live leases"), metric.WithUnit("{lease}"))
	m.changes, err3 = m.meter.Int64Counter("spangate.changes",
		metric.WithDescription("Changes of what is on or asked for"), metric.WithUnit("{change}"))
	return m, errors.Join(err1, err2, err3)
}

// observe has the gauges read from c whenever somebody collects, so that they cost a change
// nothing.
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
		return nil
	}, m.on, m.leases)
	return err
}

// count counts a change.
func (m *metrics) count(ctx context.Context, change Change) {
	if m.changes != nil {
		m.changes.Add(ctx, 1, metric.WithAttributes(attribute.String("spangate.change.kind", change.Kind)))
	}
}

func (m *metrics) unregister() error {
	if m.registration == nil {
		return nil
	}
	return m.registration.Unregister()
}
