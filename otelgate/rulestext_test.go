// SPDX-License-Identifier: Apache-2.0

package otelgate_test

import (
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.yaml.in/yaml/v3"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

func TestParseRulesOfWorkedTexts(t *testing.T) {
	for text, want := range map[string]otelgate.NamedRules{
		"":                                      nil,
		"\n \t\r\n# nothing\n":                  nil,
		"\ufeff":                                nil,
		"github.com/XSAM/otelsql* client = sql": {{Scope: "github.com/XSAM/otelsql*", Kind: trace.SpanKindClient, Groups: []string{"sql"}, Line: 1}},
		`"" promqlInnerEval* = eval`:            {{Name: "promqlInnerEval*", Groups: []string{"eval"}, Line: 1}},
		"\ufeffa=b\r\n\r\nc\t=\td\r\n":          {{Scope: "a", Groups: []string{"b"}, Line: 1}, {Scope: "c", Groups: []string{"d"}, Line: 3}},
		"a \"\" server = b # c = d":             {{Scope: "a", Kind: trace.SpanKindServer, Groups: []string{"b"}, Line: 1}},
		`a "client" client transparent = b , c`: {{Scope: "a", Name: "client", Kind: trace.SpanKindClient, Transparent: true, Groups: []string{"b", "c"}, Line: 1}},
		`"client" "GET /*" = client`:            {{Scope: "client", Name: "GET /*", Groups: []string{"client"}, Line: 1}},
		`a "\xff\"\\#=, é" = b#c`:               {{Scope: "a", Name: "\xff\"\\#=, é", Groups: []string{"b"}, Line: 1}},
		"a Öl/{id}:x = b":                       {{Scope: "a", Name: "Öl/{id}:x", Groups: []string{"b"}, Line: 1}},
		"* transparent = a-b.c_0":               {{Scope: "*", Transparent: true, Groups: []string{"a-b.c_0"}, Line: 1}},
		// A rule beneath one that matches a part of its spans.
		"a x = b\na client = b\na = b": {
			{Scope: "a", Name: "x", Groups: []string{"b"}, Line: 1},
			{Scope: "a", Kind: trace.SpanKindClient, Groups: []string{"b"}, Line: 2},
			{Scope: "a", Groups: []string{"b"}, Line: 3},
		},
	} {
		got, err := otelgate.ParseRules(text)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, got, "%q", text)
	}
}

func TestParseRulesReadsEveryKind(t *testing.T) {
	for kind := trace.SpanKindInternal; kind <= trace.SpanKindConsumer; kind++ {
		rules, err := otelgate.ParseRules("a " + kind.String() + " = b")
		require.NoError(t, err)
		assert.Equal(t, kind, rules[0].Kind)
		assert.Empty(t, rules[0].Name)
	}
}

func TestParseRulesSaysWhereAndWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		text         string
		line, column int
		message      string
	}{
		{"a", 1, 2, "no group; write '='"},
		{"a =", 1, 4, "no group here; write the name of a group"},
		{"a = b,", 1, 7, "no group here"},
		{"a = ,b", 1, 5, "no group here"},
		{`a = "b"`, 1, 5, "without quotes"},
		{"= b", 1, 1, `no scope before "="; write ""`},
		{", = b", 1, 1, `no scope before ","`},
		{"client = b", 1, 1, `no scope before "client"`},
		{"a = b\n\n x y z = c", 3, 6, `"z" can't stand here; a rule is a scope, a span name, a kind`},
		{"a client server = b", 1, 10, `"server" can't stand here`},
		{"a client client = b", 1, 10, `"client" can't stand here`},
		{"a transparent client = b", 1, 15, `"client" can't stand here`},
		{"a client x = b", 1, 10, `"x" can't stand here`},
		{`a client "x" = b`, 1, 10, `"x" can't stand here`},
		{"a x, y = b", 1, 4, `"," can't stand here`},
		{"a clinet = b", 1, 3, `"clinet" is nearly client; write that, or "clinet" in double quotes`},
		{"a Client = b", 1, 3, `"Client" is nearly client`},
		{"a = b c", 1, 7, `"c" can't stand here; write a comma between two groups`},
		{"a = b = c", 1, 7, `"=" can't stand here`},
		{"a = b,b", 1, 7, "the rule has group b twice"},
		{"a = B", 1, 5, `group "B" can't be a name: 'B' at byte 0`},
		{"a = -b", 1, 5, `group "-b" can't be a name`},
		{"a = " + strings.Repeat("b", 64), 1, 5, "it has 64 bytes, at most 63"},
		{"a*b = c", 1, 1, `scope "a*b" has a '*' at byte 1`},
		{`a "*b" = c`, 1, 3, `name "*b" has a '*' at byte 0`},
		{"\ufeff'a' = b", 1, 1, `'\'' can't stand here; write text that has other characters`},
		{"a `x` = b", 1, 3, "'`' can't stand here"},
		{`"a"b = c`, 1, 4, "'b' can't stand here"},
		{`a"b" = c`, 1, 2, `'"' can't stand here`},
		{"a\u00a0= c", 1, 2, `'\u00a0' can't stand here`},
		{"a\u200b = c", 1, 2, `'\u200b' can't stand here`},
		{"a = b\rc = d", 1, 6, `'\r' can't stand here`},
		{"# our rules\ra = b\rc = d\r", 1, 12, `'\r' can't stand here; end lines with \n or \r\n`},
		{"a = b\nc = d # e\r\r\n", 2, 10, `'\r' can't stand here`},
		{`"a = b`, 1, 1, "not a string literal of Go; end it with"},
		{`a "\q" = b`, 1, 3, "not a string literal of Go"},
		{"a \"x\xff\" = b", 1, 5, `byte 0xff is not UTF-8; save the text as UTF-8, or write the byte as \xff`},
		{"a = b # \xff", 1, 9, "byte 0xff is not UTF-8"},
		{"a = b\na = c", 2, 0, "it can never match, since the rule of line 1 matches all of its spans"},
		{"a* = b\nc = d\nab x client = c", 3, 0, "the rule of line 1"},
		{"* = b\n\"\" x = c", 2, 0, "the rule of line 1"},
	} {
		rules, err := otelgate.ParseRules(c.text)
		var e *otelgate.RulesError
		require.ErrorAs(t, err, &e, "%q", c.text)
		assert.ErrorIs(t, err, otelgate.ErrInvalidRule, "%q", c.text)
		assert.Nil(t, rules, "%q", c.text)
		assert.Equal(t, []int{c.line, c.column}, []int{e.Line, e.Column}, "%q: %v", c.text, err)
		assert.ErrorContains(t, err, c.message, "%q", c.text)
	}
	_, err := otelgate.ParseRules("a = b\na x y = c # comment\n")
	assert.EqualError(t, err, `otelgate: rules, line 2, column 5: invalid rule: "y" can't stand here; a rule is a scope, a span name, a kind and the word transparent, `+
		`in this order, then '=' and groups; write a name that has spaces or commas in double quotes; the rule is "a x y = c # comment"`)
}

func TestParseRulesRefusesOneByteOverTheLimit(t *testing.T) {
	longest := "a = b #" + strings.Repeat("x", 64<<10-7)
	_, err := otelgate.ParseRules(longest)
	assert.NoError(t, err)
	_, err = otelgate.ParseRules(longest + "x")
	assert.ErrorIs(t, err, otelgate.ErrRulesTooLong)
	assert.EqualError(t, err, "otelgate: rules: rules too long: 65537 bytes, at most 65536 are read")
}

func TestRulesErrorQuotesTheBeginningOfALongLine(t *testing.T) {
	_, err := otelgate.ParseRules("a*" + strings.Repeat("x", 10_000) + " = b")
	assert.Less(t, len(err.Error()), 1000)
	_, err = otelgate.ParseRules("a = " + strings.Repeat("x", 10_000))
	assert.Less(t, len(err.Error()), 1000)
	_, err = otelgate.ParseRules("a b " + strings.Repeat("x", 10_000) + " = c")
	assert.Less(t, len(err.Error()), 1000)
	assert.EqualError(t, new(otelgate.RulesError), "otelgate: rules")
	assert.NoError(t, new(otelgate.RulesError).Unwrap())
}

func TestNamedRulesAreWrittenInTheirShortestForm(t *testing.T) {
	for text, want := range map[string]string{
		"# a comment\n\n": "",
		"a=b":             "a = b\n",
		" \"a\" \"\"\tclient\ttransparent=b , c #": "a client transparent = b,c\n",
		`"client" "serve" = b`:                     "\"client\" \"serve\" = b\n",
		`"" "GET /*" = b`:                          "\"\" \"GET /*\" = b\n",
		`a "\u00e9" server = b`:                    "a é server = b\n",
		`a "\xc3\x28" = b`:                         "a \"\\xc3(\" = b\n",
		"\ufeffa = b\r\nc = d":                     "a = b\nc = d\n",
	} {
		rules, err := otelgate.ParseRules(text)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, rules.String(), "%q", text)
		marshalled, err := rules.MarshalText()
		require.NoError(t, err, "%q", text)
		assert.Equal(t, []byte(want), marshalled, "%q", text)
	}
}

func TestNamedRulesRefuseToMarshalWhatWouldNotParseBack(t *testing.T) {
	for what, rules := range map[string]otelgate.NamedRules{
		"no group":                 {{Scope: "a"}},
		"a group with a comma":     {{Scope: "a", Groups: []string{"b,c"}}},
		"a group that adds a rule": {{Scope: "a", Groups: []string{"b\nc = d"}}},
		"a group with a comment":   {{Scope: "a", Groups: []string{"b #c"}}},
		"an empty group":           {{Scope: "a", Groups: []string{"b", ""}}},
		"an unknown kind":          {{Scope: "a", Kind: 42, Groups: []string{"b"}}},
		"a '*' in the middle":      {{Scope: "a*b", Groups: []string{"b"}}},
		"a rule never reached":     {{Groups: []string{"b"}}, {Scope: "a", Groups: []string{"c"}}},
		"too long":                 {{Scope: strings.Repeat("x", 64<<10), Groups: []string{"b"}}},
	} {
		text, err := rules.AppendText([]byte("before"))
		var e *otelgate.RulesError
		require.ErrorAs(t, err, &e, what)
		assert.Equal(t, "before", string(text), what)
	}
}

func TestNamedRulesRoundTripThroughJSONYAMLAndFlags(t *testing.T) {
	type config struct {
		Rules otelgate.NamedRules `json:"rules" yaml:"rules"`
	}
	var c config
	c.Rules, _ = otelgate.ParseRules("a client = b\n\"\" \"x y\" transparent = c,d\n")

	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.JSONEq(t, `{"rules": "a client = b\n\"\" \"x y\" transparent = c,d\n"}`, string(text))
	var out config
	require.NoError(t, json.Unmarshal(text, &out))
	assert.Equal(t, c, out)

	text, err = yaml.Marshal(c)
	require.NoError(t, err)
	out = config{}
	require.NoError(t, yaml.Unmarshal(text, &out))
	assert.Equal(t, c, out)

	out = config{}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&out.Rules, "rules", otelgate.NamedRules{}, "")
	require.NoError(t, flags.Parse([]string{"-rules", c.Rules.String()}))
	assert.Equal(t, c, out)

	assert.Error(t, out.Rules.UnmarshalText([]byte("a = b\nc")))
	assert.Equal(t, c, out, "a failed decode changes its target")
	require.NoError(t, out.Rules.UnmarshalText(nil))
	assert.Empty(t, out.Rules)
}

// find returns the bits of two catalogs, one of them that of the provider.
func find(other *spangate.Gate) func(string) (*spangate.Gate, spangate.Mask) {
	return func(group string) (*spangate.Gate, spangate.Mask) {
		switch group {
		case "own1":
			return nil, 1
		case "own2":
			return nil, 2
		case "other":
			return other, 1 << 63
		}
		return other, 0
	}
}

func TestNamedRulesResolveGroups(t *testing.T) {
	var other spangate.Gate
	named, err := otelgate.ParseRules("a x client transparent = own1,own2\n\n\"\" y = other")
	require.NoError(t, err)
	rules, err := named.Rules(find(&other))
	require.NoError(t, err)
	assert.Equal(t, otelgate.Rules{
		{Scope: "a", Name: "x", Kind: trace.SpanKindClient, Transparent: true, Group: 3},
		{Name: "y", Gate: &other, Group: 1 << 63},
	}, rules)
	assert.Equal(t, []string{"other", "own1", "own2"}, named.Groups())

	rules, err = otelgate.NamedRules(nil).Rules(nil)
	require.NoError(t, err)
	assert.Empty(t, rules)
	assert.Empty(t, otelgate.NamedRules(nil).Groups())
}

func TestNamedRulesRefuseAnUnknownGroupWithLineAndName(t *testing.T) {
	named, err := otelgate.ParseRules("a = own1\n\nb = own2,ownn")
	require.NoError(t, err)
	rules, err := named.Rules(find(nil))
	assert.ErrorIs(t, err, otelgate.ErrUnknownGroup)
	assert.EqualError(t, err, `otelgate: rules, line 3: unknown group "ownn"; register a catalog that has it, or correct the rule; the rule is "b = own2,ownn"`)
	assert.Nil(t, rules)

	_, err = named.Rules(nil)
	assert.ErrorIs(t, err, otelgate.ErrUnknownGroup)
}

func TestNamedRulesRefuseGroupsOfTwoGatesInOneRule(t *testing.T) {
	named, err := otelgate.ParseRules("a = own1,other")
	require.NoError(t, err)
	_, err = named.Rules(find(new(spangate.Gate)))
	assert.ErrorIs(t, err, otelgate.ErrInvalidRule)
	assert.ErrorContains(t, err, `line 1: invalid rule: groups "own1" and "other" have different gates; name groups of one namespace`)
}

func TestRuleWithoutGroupFromNamedRulesIsRefusedByTheProvider(t *testing.T) {
	rules, err := otelgate.NamedRules{{Scope: "a"}}.Rules(find(nil))
	require.NoError(t, err)
	_, err = otelgate.NewTracerProvider(noop.NewTracerProvider(), new(spangate.Gate), rules)
	assert.ErrorIs(t, err, otelgate.ErrInvalidRule)
}

func TestRuleTextHasTheGivenGroups(t *testing.T) {
	r := otelgate.Rule{Scope: "a", Name: "x y", Kind: trace.SpanKindClient, Group: 3, Transparent: true}
	assert.Equal(t, `a "x y" client transparent = b,c`, r.Text("b,c"))
	assert.Equal(t, `a "x y" client transparent`, r.Text(""))
	assert.Equal(t, `""`, otelgate.Rule{}.Text(""))
}

func TestReadyRulesAreValid(t *testing.T) {
	for what, rules := range map[string]otelgate.NamedRules{
		"libraries": otelgate.LibraryRules(), "openfga.": otelgate.OpenFGARules(),
		"prometheus.": otelgate.PrometheusRules(), "traefik.": otelgate.TraefikRules(),
	} {
		require.NotEmpty(t, rules, what)
		_, err := rules.MarshalText()
		assert.NoError(t, err, what)
		for _, group := range rules.Groups() {
			assert.True(t, what == "libraries" || strings.HasPrefix(group, what), group)
		}
	}
	assert.Equal(t, []string{"grpc_client", "grpc_server", "http_client", "http_connection", "http_server", "kafka", "redis", "sql"},
		otelgate.LibraryRules().Groups(), "the table in the documentation of LibraryRules")
	otelgate.LibraryRules()[0].Scope = "changed"
	assert.NotEqual(t, "changed", otelgate.LibraryRules()[0].Scope, "the caller owns the result")
}
