// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
)

// Rule puts the spans of some instrumentation scopes, or those of one kind, in a group.
type Rule struct {
	// Scope is the name of an instrumentation scope, which most libraries make their
	// import path, or a prefix of such names that ends in '*'. Empty matches any.
	Scope string
	// Kind is the kind of span that the rule is for; unspecified matches any. A span
	// started without a kind is internal.
	Kind trace.SpanKind
	// Gate decides whether the spans are on; nil means the provider's. A process with
	// several namespaces has several.
	Gate *spangate.Gate
	// Group is the group of the gate's namespace that the spans belong to. If it holds
	// several, the spans are on while any of them is.
	Group spangate.Mask
}

// HTTPRules returns the rules that put otelhttp's server spans in [spangate.BitServer] and
// its client spans in [spangate.BitHTTPClient].
func HTTPRules() []Rule {
	const otelhttp = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	return []Rule{
		{Scope: otelhttp, Kind: trace.SpanKindServer, Group: spangate.BitServer},
		{Scope: otelhttp, Kind: trace.SpanKindClient, Group: spangate.BitHTTPClient},
	}
}

// matches reports whether the rule is for spans of this scope, whatever their kind.
func (r Rule) matches(scope string) bool {
	if prefix, ok := strings.CutSuffix(r.Scope, "*"); ok {
		return strings.HasPrefix(scope, prefix)
	}
	return r.Scope == "" || r.Scope == scope
}

// validate returns an error that says how to mend the rule, if it can't be meant.
func (r Rule) validate() error {
	if i := strings.IndexByte(r.Scope, '*'); i >= 0 && i < len(r.Scope)-1 {
		return fmt.Errorf("scope %q has a '*' at byte %d; only the last byte may be one", r.Scope, i)
	}
	if r.Kind < trace.SpanKindUnspecified || r.Kind > trace.SpanKindConsumer {
		return fmt.Errorf("kind %d is none of OpenTelemetry's; leave it unspecified to match any", r.Kind)
	}
	if r.Group == 0 {
		return fmt.Errorf("scope %q has no group, so nothing could ever turn it on; give it one", r.Scope)
	}
	return nil
}

// switcher decides whether a span is on: always, or while some group of a gate is.
type switcher struct {
	gate  *spangate.Gate // nil: always
	group spangate.Mask
}

func (s switcher) on() bool { return s.gate == nil || s.gate.On(s.group) }

// byKind has the switcher for each kind of span. The unspecified kind has none.
type byKind [trace.SpanKindConsumer + 1]switcher

// switchers returns what decides for spans of this scope, by kind. The first rule that
// matches both decides; without one, the span is always on.
func switchers(rules []Rule, scope string, gate *spangate.Gate) byKind {
	var kinds byKind
	var decided [len(kinds)]bool
	decide := func(kind trace.SpanKind, s switcher) {
		if !decided[kind] {
			kinds[kind], decided[kind] = s, true
		}
	}
	for _, r := range rules {
		if !r.matches(scope) {
			continue
		}
		s := switcher{gate: r.Gate, group: r.Group}
		if s.gate == nil {
			s.gate = gate
		}
		if r.Kind != trace.SpanKindUnspecified {
			decide(r.Kind, s)
			continue
		}
		for kind := trace.SpanKindInternal; kind <= trace.SpanKindConsumer; kind++ {
			decide(kind, s)
		}
		break
	}
	return kinds
}

// same reports whether one switcher decides for every kind.
func (k *byKind) same() bool {
	for kind := trace.SpanKindServer; kind <= trace.SpanKindConsumer; kind++ {
		if k[kind] != k[trace.SpanKindInternal] {
			return false
		}
	}
	return true
}

// agree returns whether spans are on, if that is so for every kind alike at this moment.
func (k *byKind) agree() (on, ok bool) {
	on = k[trace.SpanKindInternal].on()
	for kind := trace.SpanKindServer; kind <= trace.SpanKindConsumer; kind++ {
		if k[kind].on() != on {
			return false, false
		}
	}
	return on, true
}
