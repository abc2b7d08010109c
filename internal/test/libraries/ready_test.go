// SPDX-License-Identifier: Apache-2.0

//go:build !race

package libraries

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// decider asks a provider which rule decides about a span.
type decider struct {
	rules    otelgate.NamedRules
	gate     spangate.Gate // a bit for each rule
	provider *otelgate.TracerProvider
	used     map[int]bool // the rules that decided
}

func newDecider(t *testing.T, rules otelgate.NamedRules) *decider {
	d := &decider{rules: rules, used: make(map[int]bool)}
	var gated otelgate.Rules
	for i, r := range rules {
		require.Less(t, i, 64, "a rule has no bit of its own")
		gated = append(gated, otelgate.Rule{Scope: r.Scope, Name: r.Name, Kind: r.Kind, Group: 1 << i})
	}
	var err error
	d.provider, err = otelgate.NewTracerProvider(sdktrace.NewTracerProvider(), &d.gate, gated)
	require.NoError(t, err)
	return d
}

// groups returns the groups of the spans of this scope, name and kind, or nil if no rule decides.
func (d *decider) groups(scope, name string, kind trace.SpanKind) []string {
	on := func() bool {
		_, span := d.provider.Tracer(scope).Start(context.Background(), name, trace.WithSpanKind(kind))
		defer span.End()
		return span.IsRecording()
	}
	if d.gate.Store(0); on() {
		return nil
	}
	for i, r := range d.rules {
		if d.gate.Store(1 << i); on() {
			d.used[i] = true
			return r.Groups
		}
	}
	return nil
}

func (d *decider) assertAllUsed(t *testing.T) {
	for i, r := range d.rules {
		assert.True(t, d.used[i], "the rule %q decides about no span", r)
	}
}

// The scopes are those of the spans that the libraries themselves export.
func TestLibraryRulesDecideAboutTheSpansOfEachLibrary(t *testing.T) {
	want := map[string]string{
		"otelhttp":           "http_client,http_server",
		"otelhttptrace":      "http_connection",
		"otelgin":            "http_server",
		"otelgrpc":           "grpc_client,grpc_server",
		"otelsql":            "sql",
		"otelsql of nhat.io": "sql",
		"otelsql of Uptrace": "sql",
		"gorm":               "sql",
		"otelgorm":           "sql",
		"bun":                "sql",
		"otelpgx":            "sql",
		"redisotel":          "redis",
		"kotel":              "kafka",
		"otelsarama":         "kafka",
	}
	// Not in the matrix: whether its spans are parents of others depends on what is above them.
	all := append(slices.Clone(libraries), library{name: "otelsql of nhat.io", open: openSQL(nhatDB)})
	d := newDecider(t, otelgate.LibraryRules())
	skipped := false
	for _, l := range all {
		t.Run(l.name, func(t *testing.T) {
			defer func() { skipped = skipped || t.Skipped() }()
			var groups []string
			for _, s := range record(t, nil, trace.SpanContext{}, l.open).spans {
				scope := s.InstrumentationScope.Name
				if scope == "program" || scope == "inner" {
					continue
				}
				of := d.groups(scope, s.Name, s.SpanKind)
				assert.NotNil(t, of, "no rule for %s %s %s", scope, s.Name, s.SpanKind)
				groups = append(groups, of...)
			}
			slices.Sort(groups)
			name, _, _ := strings.Cut(l.name, ",")
			assert.Equal(t, want[name], strings.Join(slices.Compact(groups), ","))
		})
	}
	if !skipped {
		d.assertAllUsed(t)
	}
}
