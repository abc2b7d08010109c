// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/registry"
)

// The bounds on leases that hold without [MaxLeases] and [MaxTTL].
const (
	DefaultMaxLeases = 10_000
	DefaultMaxTTL    = 24 * time.Hour
)

// Option is an option of [New]. A nil one has no effect.
type Option func(*options)

type options struct {
	startup       Baseline
	catalogs      []plan.Registration
	watch         *FileWatch // without a controller; nil for no file
	err           error      // of Watch
	deny, ceiling string
	maxLeases     int
	maxTTL        time.Duration
	budget        Budget
	admit         bool
	refused       func() iter.Seq2[string, uint64]
	logger        *slog.Logger
	onChange      []func(Change)
	meters        metric.MeterProvider
	roots         func(*spangate.Gate) spangate.Mask
	scopes        func() ([]Scope, []UnmatchedRule)
}

// program is the default who of a change.
const program = "program"

// apply applies the options that are not nil.
func apply[T any, O ~func(*T)](to *T, opts []O) {
	for _, opt := range opts {
		if opt != nil {
			opt(to)
		}
	}
}

func newOptions(opts []Option) (options, error) {
	o := options{maxLeases: DefaultMaxLeases, maxTTL: DefaultMaxTTL, meters: noop.NewMeterProvider()}
	apply(&o, opts)
	fail := func(format string, args ...any) (options, error) {
		return options{}, &Error{Op: "new", Err: fmt.Errorf("bad option: "+format, args...)}
	}
	switch {
	case o.err != nil:
		return options{}, o.err
	case o.maxLeases < 1:
		return fail("MaxLeases(%d); at least 1", o.maxLeases)
	case o.maxTTL <= 0:
		return fail("MaxTTL(%v); more than 0", o.maxTTL)
	}
	b, d := &o.budget, defaultBudget
	for _, n := range []struct {
		name  string
		value *int
		unset int
	}{{"Traces", &b.Traces, d.Traces}, {"SpansPerSecond", &b.SpansPerSecond, d.SpansPerSecond}, {"SpansPerTrace", &b.SpansPerTrace, d.SpansPerTrace}} {
		if *n.value = cmp.Or(*n.value, n.unset); *n.value < 1 || *n.value > math.MaxInt32 {
			return fail("OverrideBudget with %s %d; 1 to %d, or 0 for the default of %d", n.name, *n.value, math.MaxInt32, n.unset)
		}
	}
	if b.Time = cmp.Or(b.Time, d.Time); b.Time < 0 {
		return fail("OverrideBudget with Time %v; more than 0, or 0 for the default of %v", b.Time, d.Time)
	}
	if v := reflect.ValueOf(o.meters); v.Kind() == reflect.Pointer && v.IsNil() {
		return fail("Metrics of a nil %T; leave the option out", o.meters)
	}
	o.startup.Who, o.startup.AllowPending = cmp.Or(o.startup.Who, program), true
	return o, cmp.Or(checkAuthor("who", o.startup.Who, o.startup.Why), checkText(o.startup.Spec), checkText(o.deny), checkText(o.ceiling))
}

// StartupBaseline makes b the baseline to begin with, as [Controller.Configure] does later.
// Without it nothing is on to begin with.
func StartupBaseline(b Baseline) Option { return func(o *options) { o.startup = b } }

// Catalog registers c with gate g, as [registry.Registry.Register] does, in New and before the baseline
// is in force, so that nothing is registered if New fails. Close unregisters it.
func Catalog(c *spangate.Catalog, g *spangate.Gate, opts ...registry.RegisterOption) Option {
	return func(o *options) {
		o.catalogs = append(o.catalogs, plan.Registration{Catalog: c, Gate: g, Options: opts})
	}
}

// Watch makes the content of the file at path the baseline, as [Controller.WatchFile] does, until the
// controller is closed. Until the file can be used, the baseline is that of [StartupBaseline].
func Watch(path string, opts ...WatchOption) Option {
	return func(o *options) { o.watch, o.err = newWatch(path, opts) }
}

// Deny keeps off what spec selects, whatever the baseline and leases select. Its names may be
// pending: their groups stay off when they are registered.
func Deny(spec string) Option { return func(o *options) { o.deny = spec } }

// Ceiling keeps off everything but what spec selects. A blank one is no ceiling.
func Ceiling(spec string) Option { return func(o *options) { o.ceiling = nonBlank(spec) } }

// MaxLeases sets how many leases there can be at once, at least 1. Without it there can be
// [DefaultMaxLeases]. Of leases that revoke there can be 16 also when there are n others.
func MaxLeases(n int) Option { return func(o *options) { o.maxLeases = n } }

// MaxTTL sets the longest time to live of a lease, more than 0. Without it that is
// [DefaultMaxTTL].
func MaxTTL(d time.Duration) Option { return func(o *options) { o.maxTTL = d } }

// Logger makes the controller log to l. Without it, and if l is nil, it logs to [slog.Default]
// as it is when the record is logged. The time of a record is that of the change. Records of the
// registry go to the logger of the registry.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// OnChange calls fn after every change, in the order of the changes and one call at a time,
// from the goroutine of the change log: fn may call the controller. A nil fn has no effect.
//
// The first call is for the start-up baseline, and comes after [New] has returned: at the first
// change that is made with the controller, or a tenth of a second after New. Old and New are equal
// for a change that turns nothing on or off, such as a renewal, the closing, or another spec that
// selects the same groups: a callback can compare the two. A change that finds the
// queue of the change log full makes no call.
func OnChange(fn func(Change)) Option {
	return func(o *options) {
		if fn != nil {
			o.onChange = append(o.onChange, fn)
		}
	}
}

// Roots lets [Controller.State] and the endpoint show the groups that begin traces and are off,
// so that spans of other groups have no span above them. roots returns the groups of a gate that
// begin traces; pass [otelgate.TracerProvider.Roots] of the program's provider:
//
//	control.New(r, control.Roots(provider.Roots))
//
// Every read of the state calls roots with the gate of each namespace, from any goroutine. A nil
// roots has no effect.
//
// [otelgate.TracerProvider.Roots]: https://pkg.go.dev/github.com/spangate/spangate/otelgate#TracerProvider.Roots
func Roots(roots func(gate *spangate.Gate) spangate.Mask) Option {
	return func(o *options) { o.roots = roots }
}

// Metrics makes the controller report to p, until it is closed:
//
//	spangate.group.on          gauge     1 if the group is on, 0 if it is off; attribute spangate.group
//	spangate.leases            gauge     live leases
//	spangate.changes           counter   changes; attribute spangate.change.kind
//	spangate.changes.dropped   counter   records of the change log that were dropped
//	spangate.overrides         gauge     live overrides
//	spangate.overrides.begun   counter   overrides; attribute spangate.override.origin is lease or process
//	spangate.overrides.spans   counter   spans that overrides have turned on
//	spangate.overrides.sampled counter   spans that were sampled for overrides although the sampler dropped them
//	spangate.overrides.cut     counter   what the [Budget] has cut; attribute spangate.override.reason
//	spangate.overrides.refused counter   overrides that were refused; the same attribute
//	spangate.spans.started     counter   spans, with [Scopes]; attributes spangate.group and spangate.scope
//	spangate.spans.withheld    counter   spans not started, if the program counts them; the same attributes
//
// A span of several groups counts to each; one of no group has no attribute spangate.group.
//
// A nil p has no effect; one that holds a nil pointer is an error of [New].
func Metrics(p metric.MeterProvider) Option {
	return func(o *options) { o.meters = cmp.Or(p, o.meters) }
}

// nonBlank returns s, or "" if it is nothing but space.
func nonBlank(s string) string {
	if spec.Trim(s) == "" {
		return ""
	}
	return s
}
