// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// Rule puts spans in a group, by their instrumentation scope, name and kind. A Rule is an
// [Option]. Its zero value matches every span and has no group, which is refused.
type Rule struct {
	// Scope is the name of an instrumentation scope, for most libraries their import path,
	// or a prefix of such names followed by '*'. Empty matches any. The scope without a
	// name is [EmptyScope].
	Scope string
	// Name is the name that a span is started with, or a prefix of such names followed by
	// '*'. Empty matches any.
	Name string
	// Kind is the kind of span that the rule is for; unspecified matches any. A span
	// started without a kind is internal.
	Kind trace.SpanKind
	// Gate decides whether the spans are on; nil means the provider's. A process with
	// several namespaces has several.
	Gate *spangate.Gate
	// Group is the group of the gate's namespace that the spans belong to. If it holds
	// several, the spans are on while any of them is. It must not be empty.
	Group spangate.Mask
	// Transparent makes sites that are off leave the context unchanged, so that what inner
	// code writes to [trace.SpanFromContext] lands on the nearest span that is on. It is
	// only for code that ends the span that Start returned. Code that ends a span from the
	// context would end its caller's.
	Transparent bool
}

// Rules is a list of rules, which is an [Option] as a whole.
type Rules []Rule

// EmptyScope is the name that the SDK gives to a scope whose name is empty.
const EmptyScope = spec.EmptyScope

// HTTPRules returns the rules that put otelhttp's server spans in the group server and its
// client spans in the group client. Both are groups of the provider's gate. With
// [spangate.Gym]:
//
//	otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient)
func HTTPRules(server, client spangate.Mask) Rules {
	const otelhttp = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	return Rules{
		{Scope: otelhttp, Kind: trace.SpanKindServer, Group: server},
		{Scope: otelhttp, Kind: trace.SpanKindClient, Group: client},
	}
}

// An Option configures [NewTracerProvider]: a [Rule], [Rules], or what [Names], [Discover],
// [CountWithheld], [Overrides], [OneTrace] or [ErrorSpanLimit] returns. A nil Option does nothing.
type Option interface{ apply(*config) }

// config holds the options of a provider.
type config struct {
	rules         []Rule
	names         *spangate.Catalog
	find          func(scope string) (*spangate.Gate, spangate.Mask)
	countWithheld bool
	overrides     func(context.Context, trace.SpanContext) *spangate.Override
	remoteShares  bool
	oneTrace      bool
	traceID       func(context.Context) trace.TraceID
	errorSpans    int
	err           error
}

func (r Rule) apply(c *config)   { c.rules = append(c.rules, r) }
func (rs Rules) apply(c *config) { c.rules = append(c.rules, rs...) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// Names passes the catalog of the provider's gate, so that [NewTracerProvider] refuses a rule of
// that gate with a bit that c does not have: no spec could turn it on. Rules of other gates are
// not checked. A nil c is [ErrInvalidOption].
func Names(c *spangate.Catalog) Option {
	return optionFunc(func(o *config) {
		if c == nil {
			o.err = errors.New("Names was given a nil catalog; pass the one that the gate is registered with")
		}
		o.names = c
	})
}

// Discover makes find decide about the scopes that no rule names. A rule names a scope if its Scope
// matches it and is neither empty nor "*". Rules that name no scope still decide first; find's group
// has the other spans of the scope. find is not called if every span of the scope matches a rule,
// nor by views that [TracerProvider.Group] made. registry.Scopes returns a find that makes a group
// of each scope.
//
// The first call of Tracer with the name of a scope calls find, once for each scope; the empty name is
// [EmptyScope]. Other calls of Tracer for the scope wait for it, so that no span starts before its group
// is known. find must be safe for concurrent use, and must not wait for other goroutines that may call
// Tracer. It may itself register gates, log and use the provider, as no lock is held during the call: a
// tracer that it gets of the scope has its spans on until it returns. Spans of the scope are always on if
// find panics, or returns a nil gate or an empty mask.
//
// A nil find is [ErrInvalidOption].
func Discover(find func(scope string) (*spangate.Gate, spangate.Mask)) Option {
	return optionFunc(func(o *config) {
		if find == nil {
			o.err = errors.New("Discover was given a nil function; pass one that returns the gate and group of a scope")
		}
		o.find = find
	})
}

// CountWithheld makes the provider count the spans that it does not start because their groups are
// off, as [Site].Withheld. Code that checks [spangate.Gate.On] before it calls Start is not counted.
//
// It costs each Start of a site that is off an atomic addition, in a cache line that goroutines
// seldom share: with no span above, 9 ns in place of 5 on amd64. It allocates nothing more.
func CountWithheld() Option { return optionFunc(func(o *config) { o.countWithheld = true }) }

// validate returns an error if an option is not valid.
func (c *config) validate(gate *spangate.Gate) error {
	if c.err != nil {
		return fmt.Errorf("otelgate: %w: %w", ErrInvalidOption, c.err)
	}
	for i, r := range c.rules {
		err := r.validate()
		if err == nil && c.names != nil && (r.Gate == nil || r.Gate == gate) {
			if rest := r.Group.Without(c.names.All()); rest != 0 {
				err = fmt.Errorf("group %v has no name in the catalog %s, so no spec could turn it on; it has %s",
					rest, c.names.Namespace(), c.names.Format(c.names.All()))
			}
		}
		if err != nil {
			return fmt.Errorf("otelgate: %w: rule %d: %w", ErrInvalidRule, i, err)
		}
	}
	return nil
}

func (r Rule) validate() error {
	for _, p := range []struct{ what, pattern string }{{"scope", r.Scope}, {"name", r.Name}} {
		if i := strings.IndexByte(p.pattern, '*'); i >= 0 && i < len(p.pattern)-1 {
			return fmt.Errorf("%s %.256q has a '*' at byte %d; only the last byte may be one", p.what, p.pattern, i)
		}
	}
	if r.Kind < trace.SpanKindUnspecified || r.Kind > trace.SpanKindConsumer {
		return fmt.Errorf("kind %d is not one of OpenTelemetry's; leave it unspecified to match any", r.Kind)
	}
	if r.Group == 0 {
		return fmt.Errorf("scope %.256q has no group, so nothing could ever turn it on; give it one", r.Scope)
	}
	return nil
}

// matchesAny reports whether every name matches the pattern of a rule.
func matchesAny(pattern string) bool { return pattern == "" || pattern == "*" }

// matches reports whether name matches the pattern of a rule.
func matches(pattern, name string) bool {
	if n := len(pattern); n > 0 && pattern[n-1] == '*' {
		return strings.HasPrefix(name, pattern[:n-1])
	}
	return pattern == "" || pattern == name
}
