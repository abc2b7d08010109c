// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
	"github.com/spangate/spangate/setup"
)

const scopeTable = `SCOPE                    SPANS              GROUPS  ARE        STARTED  A SECOND (LAST MINUTE)  RULE
example.com/app          all                none    always on  7        0.1                     none
github.com/XSAM/otelsql  client             sql     off        120      3.5                     github.com/XSAM/otelsql* client = sql
github.com/XSAM/otelsql  sql.rows internal  rows    on         3        0.0                     none

RULE THAT MATCHES NO SCOPE  NEAREST SCOPE
github.com/XSAM/otlsql = x  github.com/XSAM/otelsql
"" = y                      none is near
`

// The program gates two libraries by rules and has a rule for one that it does not use.
func TestScopesOfAProgramFollowWhatItStarts(t *testing.T) {
	parts, err := setup.New(noop.NewTracerProvider(), setup.Registry(registry.New()), setup.CountWithheld(), setup.Handler(control.Authorize(control.Anyone())),
		setup.RulesText("github.com/XSAM/otelsql client = sql\ngithub.com/XSAM/otlsql = x\n"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, parts.Close()) }()
	server := httptest.NewServer(parts.Handler)
	defer server.Close()
	t.Setenv(envURL, server.URL)
	shows := func(pattern string, args ...string) { // retries, since the endpoint looks at the counts once a second
		var stdout string
		matches := eventually(func() bool {
			var stderr string
			var code int
			stdout, stderr, code = runCommand(t, args...)
			require.Zero(t, code, stderr)
			return regexp.MustCompile(pattern).MatchString(stdout)
		})
		assert.True(t, matches, "%s\n%s", pattern, stdout)
	}
	shows(`^RULE THAT MATCHES NO SCOPE +NEAREST SCOPE\n(.+ none is near\n){2}$`, "scopes")

	query := func() {
		_, span := parts.TracerProvider.Tracer("github.com/XSAM/otelsql").Start(t.Context(), "query", trace.WithSpanKind(trace.SpanKindClient))
		span.End()
	}
	query()
	query()
	_, span := parts.TracerProvider.Tracer("example.com/app").Start(t.Context(), "work")
	span.End()
	_, span = parts.TracerProvider.Tracer("github.com/XSAM/otelsql").Start(t.Context(), "rows") // no rule matches it
	span.End()
	shows(`(?m)^github.com/XSAM/otelsql +all +none +always on +1 +\S+ +0 +none$`, "scopes")
	shows(`(?m)^example.com/app +all +app +on +1 +\S+ +0 +none$`, "scopes")
	shows(`(?m)^github.com/XSAM/otelsql +client +sql +on +2 +\S+ +0 +github.com/XSAM/otelsql client = sql$`, "scopes")
	shows(`(?m)^github.com/XSAM/otlsql = x +github.com/XSAM/otelsql$`, "scopes")

	shows(`^lease `, "quiet", "sql", "--for", "10m", "--owner", "ann")
	query()
	shows(`(?m)^github.com/XSAM/otelsql +client +sql +off +2 +\S+ +1 +github.com/XSAM/otelsql client = sql$`, "scopes")
	shows(`(?m)^sql +off +baseline; quieted by lease of ann +2 `, "get", "sql")
}

func TestScopesShowsEachSiteAndTheRulesThatMatchNone(t *testing.T) {
	state := wire.State{
		Generation: "a-1",
		Groups:     []wire.Group{{Name: "sql", Baseline: true, Members: []wire.Member{{Namespace: "db", Doc: "statements"}}, Spans: &wire.Spans{Started: "120", PerSecond: 3.54}}, {Name: "rows", On: true, Spans: &wire.Spans{Started: "3"}}},
		Presets:    []wire.Preset{{Name: "default", State: wire.Mixed, Groups: []string{"rows", "sql"}}},
		Scopes: []wire.Scope{
			{Name: "example.com/app", Spans: wire.Spans{Started: "7", PerSecond: 0.1}, Sites: []wire.Site{{On: true, Spans: wire.Spans{Started: "7", PerSecond: 0.1}}}},
			{Name: "github.com/XSAM/otelsql", Spans: wire.Spans{Started: "123", PerSecond: 3.54}, Sites: []wire.Site{
				{Rule: "github.com/XSAM/otelsql* client = sql", Kind: "client", Groups: []string{"sql"}, Spans: wire.Spans{Started: "120", PerSecond: 3.54}},
				{SpanName: "sql.rows", Kind: "internal", Groups: []string{"rows"}, On: true, Spans: wire.Spans{Started: "3"}},
			}},
		},
		Unmatched: []wire.UnmatchedRule{{Rule: "github.com/XSAM/otlsql = x", Nearest: "github.com/XSAM/otelsql"}, {Rule: `"" = y`}},
	}
	show := func(args ...string) string {
		body, err := json.Marshal(state)
		require.NoError(t, err)
		url := answering(t, 200, "application/json", string(body))
		if args[len(args)-1] == "--url" {
			args = append(args, url+"/other")
		}
		stdout, stderr, code := runCommand(t, append(args, "--url", url)...)
		require.Zero(t, code, stderr)
		return stdout
	}
	assert.Equal(t, scopeTable, show("scopes"))
	assert.Regexp(t, `  2 scopes, 3.6 spans a second; 2 rules match no scope\n$`, show("scopes", "--url"))

	var got wire.State
	require.NoError(t, json.Unmarshal([]byte(show("scopes", "--json")), &got))
	assert.Equal(t, state.Scopes, got.Scopes)
	assert.Equal(t, state.Unmatched, got.Unmatched)

	assert.Regexp(t, `(?m)^GROUP +IS +BECAUSE OF +STARTED +A SECOND \(LAST MINUTE\) +NAMESPACE +SPANS\nsql +off +baseline +120 +3\.5 +db +statements\nrows +on +3 +0\.0$`, show("get"))
	assert.Regexp(t, `(?m)^rules +github.com/XSAM/otlsql = x \(matches no scope; did you mean github.com/XSAM/otelsql\?\)$`, show("get"))
	sql := show("get", "sql")
	assert.Contains(t, sql, "github.com/XSAM/otelsql  client             sql")
	assert.NotContains(t, sql, "example.com/app")

	state.Scopes[1].Sites[0].Spans.Withheld = "40"
	assert.Regexp(t, `(?m)^github.com/XSAM/otelsql +client +sql +off +120 +3.5 +40 +github.com/XSAM/otelsql\* client = sql$`, show("scopes"))
}
