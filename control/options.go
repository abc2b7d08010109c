// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/spangate/spangate/internal/spec"
)

// The bounds on leases that hold without [MaxLeases] and [MaxTTL].
const (
	DefaultMaxLeases = 10_000
	DefaultMaxTTL    = 24 * time.Hour
)

// Option is an option of [New].
type Option func(*options)

type options struct {
	start         Baseline
	deny, ceiling string
	maxLeases     int
	maxTTL        time.Duration
	logger        *slog.Logger
	onChange      []func(Change)
	meters        metric.MeterProvider
}

// program is who changes something that nobody else is named for.
const program = "program"

func newOptions(opts []Option) (options, error) {
	o := options{maxLeases: DefaultMaxLeases, maxTTL: DefaultMaxTTL}
	for _, opt := range opts {
		opt(&o)
	}
	fail := func(format string, args ...any) (options, error) {
		return options{}, &Error{Op: "new", Err: because(ErrOption, format, args...)}
	}
	switch {
	case o.maxLeases < 1:
		return fail("MaxLeases(%d); at least 1", o.maxLeases)
	case o.maxTTL <= 0:
		return fail("MaxTTL(%v); more than 0", o.maxTTL)
	}
	o.start = configured(o.start)
	return o, cmp.Or(checkNames(o.start.Who, o.start.Why), checkText(o.start.Spec), checkText(o.deny), checkText(o.ceiling))
}

// Start makes b the baseline to begin with, and the one that [Controller.ResetBaseline] goes
// back to. It is configuration: names that nobody has registered are kept until somebody
// does. Without it nothing is on to begin with.
func Start(b Baseline) Option { return func(o *options) { o.start = b } }

// Deny keeps what spec selects off, whoever asks for it. Names that nobody has registered
// are kept, and stay off when somebody does.
func Deny(spec string) Option { return func(o *options) { o.deny = spec } }

// Ceiling lets nothing be on but what spec selects. A blank one is no ceiling.
func Ceiling(spec string) Option { return func(o *options) { o.ceiling = nonBlank(spec) } }

// MaxLeases lets there be n leases at once, instead of [DefaultMaxLeases].
func MaxLeases(n int) Option { return func(o *options) { o.maxLeases = n } }

// MaxTTL lets leases live for d at most, instead of [DefaultMaxTTL].
func MaxTTL(d time.Duration) Option { return func(o *options) { o.maxTTL = d } }

// Logger makes the controller log to l. Without it, and where l is nil, it logs to what
// [slog.Default] is at the time.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// OnChange has fn called after every change, in the order of the changes and one call at a
// time, with no lock held: fn may call the controller. It delays whoever made the change.
func OnChange(fn func(Change)) Option {
	return func(o *options) { o.onChange = append(o.onChange, fn) }
}

// Metrics makes the controller report to p, until it is closed:
//
//	spangate.group.on   gauge     1 if the group is on, 0 if it is off; attribute spangate.group
//	spangate.leases     gauge     live leases
//	spangate.changes    counter   changes; attribute spangate.change.kind
func Metrics(p metric.MeterProvider) Option { return func(o *options) { o.meters = p } }

// nonBlank returns s, or "" if it is nothing but space.
func nonBlank(s string) string {
	if spec.Trim(s) == "" {
		return ""
	}
	return s
}
