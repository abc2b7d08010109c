// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control/wire"
)

// sources returns the page and the files that it loads, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(embedded, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := embedded.ReadFile(name)
		all[path.Base(name)] = string(content)
		return err
	}))
	return all
}

func TestPageIsSmall(t *testing.T) {
	total := 0
	for _, content := range sources(t) {
		total += len(content)
	}
	assert.Less(t, total, 40_000)
}

func TestNoSourceMakesMarkupOfTextOrNamesAHost(t *testing.T) {
	for name, content := range sources(t) {
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "setHTML", "createContextualFragment", "eval(", "new Function", "javascript:", "style=", "Storage", "document.cookie", "location.search", "location.hash"} {
			assert.NotContains(t, content, bad, name)
		}
		for _, address := range regexp.MustCompile(`\w+://[^\s"'<]*`).FindAllString(content, -1) {
			assert.Equal(t, "http://www.w3.org/2000/svg", address, name)
		}
		parsers := 0
		if name == "page.js" {
			parsers = 1 // of the endpoint's own page
		}
		assert.Equal(t, parsers, strings.Count(content, "DOMParser"), name)
	}
	assert.NotRegexp(t, `\son\w+=`, sources(t)["index.html"])
}

// All words of the page are in the template and the view: no text in the script has two words.
func TestScriptHasNoWords(t *testing.T) {
	code := regexp.MustCompile(`(?m)(^|\s)//.*$`).ReplaceAllString(sources(t)["page.js"], "")
	texts := regexp.MustCompile("'[^'\n]*'|`[^`\n]*`").FindAllString(code, -1)
	assert.NotEmpty(t, texts)
	for _, text := range texts {
		if text != "`Bearer ${secret}`" && text != "'#changes time'" && text != "'.row button'" {
			assert.NotRegexp(t, `\w \w`, text)
		}
	}
}

func TestFilesThatThePageLoadsExist(t *testing.T) {
	types := map[string]string{"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
	links := regexp.MustCompile(`(?:href|src)="([^"#]*)"`).FindAllStringSubmatch(sources(t)["index.html"], -1)
	assert.Len(t, links, len(types))
	for _, link := range links {
		name, relative := strings.CutPrefix(link[1], "page/")
		assert.Truef(t, relative, "%s does not work below a prefix", link[1])
		content, contentType, err := File(name)
		assert.NoError(t, err)
		assert.Equal(t, sources(t)[name], string(content))
		assert.Equal(t, types[name], contentType)
	}
	for _, name := range []string{"", ".", "other", "../index.html"} {
		_, _, err := File(name)
		assert.Error(t, err, name)
	}
}

func TestEmptyStateRenders(t *testing.T) {
	var b strings.Builder
	require.NoError(t, New(wire.State{}).Write(&b, time.Time{}, false, nil))
	for _, text := range []string{"0 of 0 groups on", "None is registered.", `baseline <code id="spec-now">nothing</code>`} {
		assert.Contains(t, b.String(), text)
	}
}

func TestReasonsOfAGroup(t *testing.T) {
	leases := []wire.Lease{{ID: "a", Owner: "ada"}, {ID: "b", Owner: "bob"}}
	left := func(lease int) time.Duration { return []time.Duration{244200 * time.Millisecond, time.Hour}[lease] }
	for _, c := range []struct {
		state wire.State
		group wire.Group
		why   string
	}{
		{wire.State{}, wire.Group{}, ""},
		{wire.State{}, wire.Group{On: true, Baseline: true}, "baseline"},
		{wire.State{}, wire.Group{On: true, Baseline: true, Leases: []string{"a", "b"}}, "baseline · lease of ada, 4:05 · lease of bob, 1:00:00"},
		{wire.State{}, wire.Group{On: true, Leases: []string{"a", "a", "a", "a", "a", "a"}}, "lease of ada, 4:05 · lease of ada, 4:05 · lease of ada, 4:05 · lease of ada, 4:05 · 2 more leases"},
		{wire.State{}, wire.Group{Baseline: true, Quiet: []string{"b"}}, "baseline · quieted by lease of bob, 1:00:00"},
		{wire.State{}, wire.Group{On: true, Baseline: true, Quiet: []string{"b"}, Leases: []string{"a"}}, "baseline · quieted by lease of bob, 1:00:00 · lease of ada, 4:05"},
		{wire.State{}, wire.Group{Quiet: []string{"a", "a", "a", "a", "a"}}, "quieted by lease of ada, 4:05 · quieted by lease of ada, 4:05 · quieted by lease of ada, 4:05 · quieted by lease of ada, 4:05 · quieted by 1 more leases"},
		{wire.State{}, wire.Group{On: true, Baseline: true, Quiet: []string{"b"}, Overridden: true}, "baseline · quieted by lease of bob, 1:00:00 · set on the registry itself"},
		{wire.State{Deny: "x"}, wire.Group{Withheld: true, Baseline: true}, "baseline · kept off by the deny list"},
		{wire.State{Ceiling: "x"}, wire.Group{Withheld: true}, "kept off by the ceiling"},
		{wire.State{Deny: "x", Ceiling: "x"}, wire.Group{Withheld: true}, "kept off by the deny list or the ceiling"},
		{wire.State{Deny: "x"}, wire.Group{On: true, Withheld: true, Overridden: true}, "set on the registry itself"},
		{wire.State{}, wire.Group{On: true, Overridden: true}, "set on the registry itself"},
		{wire.State{}, wire.Group{Baseline: true, Overridden: true}, "baseline · set on the registry itself"},
	} {
		c.state.Leases = leases
		v := newView(c.state)
		v.left = left
		assert.Equal(t, c.why, strings.Join(v.Because(c.group), " · "))
	}
}

// What the first screen says of a group: the cause that decides, and until when.
func TestCausesOfGroups(t *testing.T) {
	s := wire.State{
		Deny: "held", Leases: []wire.Lease{{ID: "a", Owner: "ada"}, {ID: "b", Owner: "bob"}},
		Groups: []wire.Group{
			{Name: "base", On: true, Baseline: true},
			{Name: "both", On: true, Baseline: true, Leases: []string{"a"}},
			{Name: "held", Withheld: true, Baseline: true, Leases: []string{"a"}},
			{Name: "idle", Quiet: []string{"a"}},
			{Name: "leased", On: true, Leases: []string{"a", "b"}},
			{Name: "over", On: true, Overridden: true, Leases: []string{"a"}},
			{Name: "quiet", Baseline: true, Quiet: []string{"a", "b"}},
			{Name: "still", On: true, Baseline: true, Quiet: []string{"b"}, Leases: []string{"a"}},
		},
	}
	v := newView(s)
	v.left = func(lease int) time.Duration { return time.Duration(lease+1) * time.Minute }
	got := map[string]string{}
	for cause, groups := range v.Causes {
		got[cause] = v.Names(groups)
	}
	assert.Equal(t, map[string]string{
		"baseline": "base, both", "leases": "leased 2:00, still 1:00", "registry": "over", "limits": "held", "quiet": "quiet 2:00", "unselected": "idle",
	}, got)
	assert.Equal(t, "bob, ada", v.Owners(v.Causes["leases"]))
	assert.Equal(t, "bob", v.Owners(v.Causes["quiet"]))
	assert.Empty(t, v.Owners(v.Causes["baseline"]))
	assert.Equal(t, "base", s.Groups[0].Name, "the argument is not changed")
	var order []string
	for _, g := range v.Groups {
		order = append(order, g.Name)
	}
	assert.Equal(t, "base both leased over still held idle quiet", strings.Join(order, " "))
	assert.Equal(t, "a, b, c, d, e, f, g, h, and 2 more", v.Names(strings.Split("abcdefghij", "")))
	assert.Equal(t, map[string][]string{"baseline": nil}, newView(wire.State{}).Causes)
	assert.Equal(t, map[string][]string{"baseline": nil, "limits": nil}, newView(wire.State{Ceiling: "x"}).Causes)
}

func TestTimesToLiveStayWithinTheLongest(t *testing.T) {
	for longest, c := range map[string]struct{ form, lease, extension string }{
		"":        {"0s", "", ""},
		"30s":     {"30s", "", ""},
		"5m0s":    {"5m0s", "1m0s 5m0s ", ""},
		"10m0s":   {"10m", "1m0s 5m0s ", "9m0s "},
		"24h0m0s": {"10m", "1m0s 5m0s 30m0s ", "9m0s 34m0s "},
	} {
		v := newView(wire.State{MaxTTL: longest, Leases: []wire.Lease{{ID: "a"}}})
		v.left = func(int) time.Duration { return 4 * time.Minute }
		ttls := func(o offer) (text string) {
			for _, c := range o.Times {
				text += c.TTL.String() + " "
			}
			return text
		}
		assert.Equal(t, c.form, v.TTL(), longest)
		assert.Equal(t, c.lease, ttls(v.Offer("Lease", "spec", "x")), longest)
		assert.Equal(t, c.extension, ttls(v.Extension(0, "x")), longest)
	}
}

func TestSpansASecond(t *testing.T) {
	for perSecond, text := range map[float64]string{0: "0/s", 0.001: "0.1/s", 0.44: "0.4/s", 9.94: "9.9/s", 9.96: "10/s", 1234.5: "1234/s"} {
		assert.Equal(t, text, rate(perSecond))
	}
}

func TestCountsAreShownOnlyIfThereAreAny(t *testing.T) {
	g := wire.Group{Name: "g", On: true}
	html := render(t, wire.State{Groups: []wire.Group{g}}, time.Time{})
	for _, none := range []string{"<meter", "/s</span>", "since the start", "a second"} {
		assert.NotContains(t, html, none)
	}
	assert.Contains(t, html, `<section id="scopes-section" aria-labelledby="scopes-title" hidden>`)

	spans := wire.Spans{Started: "18446744073709551615", PerSecond: 2.5, Withheld: "7"}
	g.Spans = &spans
	s := wire.State{
		Groups: []wire.Group{g, {Name: "h", Spans: &wire.Spans{Started: "1", PerSecond: 10, Withheld: "0"}}},
		Scopes: []wire.Scope{
			{Name: "lib", Spans: spans, Sites: []wire.Site{
				{Rule: "lib get* client = g", SpanName: "get*", Kind: "client", Groups: []string{"g", "h"}, On: true, Spans: spans},
				{On: true, Spans: wire.Spans{Started: "3"}},
			}},
		},
		Unmatched: []wire.UnmatchedRule{{Rule: "libb = g", Nearest: "lib"}, {Rule: "x = g"}},
	}
	html = regexp.MustCompile(`<[^m>][^>]*>|\s+`).ReplaceAllString(render(t, s, time.Time{}), " ")
	html = strings.Join(strings.Fields(html), " ")
	for _, text := range []string{
		"Spans a second are averages over the last minute.",
		`<meter max="2.5" value="2.5" aria-hidden="true"> 2.5/s`, "18446744073709551615 spans since the start, 7 not started",
		"off h 10/s 1 span since the start", // without a bar
		"Scopes 1 seen · 2 rules match no scope",
		"g, h: on, 2.5/s, 18446744073709551615 spans since the start, 7 not started · span get* · client lib get* client = g",
		"in no group: always on, 0/s, 3 spans since the start no rule",
		"libb = g This rule has matched no scope yet. The nearest is lib x = g This rule has matched no scope yet.",
	} {
		assert.Contains(t, html, text)
	}

	assert.Equal(t, 1, strings.Count(html, "<meter"))

	s.Scopes = make([]wire.Scope, maxScopes+3)
	assert.Contains(t, render(t, s, time.Time{}), "and 3 more</p>")
}

func render(t *testing.T, s wire.State, now time.Time) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, New(s).Write(&b, now, true, func(int) time.Duration { return time.Minute }))
	return b.String()
}

func TestWhatALeaseDoes(t *testing.T) {
	for does, l := range map[string]wire.Lease{
		"nothing": {}, "a": {Spec: "a"}, "quiet b": {Quiet: "b"}, "a · quiet b": {Spec: "a", Quiet: "b"},
	} {
		l.Owner = "ada"
		html := render(t, wire.State{Leases: []wire.Lease{l}}, time.Time{})
		assert.Contains(t, html, "<bdi>"+does+"</bdi>")
		assert.Contains(t, html, `aria-label="Release `+does+` of ada"`)
	}
}

func TestPendingNamesAreListedUpToABound(t *testing.T) {
	names := make([]string, maxPending+1)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	all := strings.Join(names[:maxPending], ", ")
	for want, pending := range map[string][]string{all + "<": names[:maxPending], all + ", and 1 more<": names} {
		html := render(t, wire.State{Pending: pending, Leases: []wire.Lease{{Pending: pending}}}, time.Time{})
		assert.Contains(t, html, "Asked for and not registered: "+want)
		assert.Contains(t, html, `<p class="hint">not registered: `+want)
	}
}

func TestNearestNamesAndSpansInNoGroupAreShown(t *testing.T) {
	none := render(t, wire.State{
		Groups: []wire.Group{{Name: "sql"}}, Pending: []string{"kafka"}, Unmatched: []wire.UnmatchedRule{{Rule: "x = y"}}, File: &wire.File{Path: "/f"},
		Scopes: []wire.Scope{{Name: "idle", Sites: []wire.Site{{Spans: wire.Spans{Started: "0"}}}}, {Name: "sql", Sites: []wire.Site{{Groups: []string{"sql"}, Spans: wire.Spans{Started: "3"}}}}},
	}, time.Time{})
	for _, text := range []string{`<p id="misspelt" class="hint"></p>`, `<p id="ungrouped" class="hint"></p>`, "not registered: kafka<"} {
		assert.Contains(t, none, text)
	}
	assert.NotContains(t, none, `id="file"`)

	s := wire.State{
		Groups: []wire.Group{{Name: "otelsql"}}, Presets: []wire.Preset{{Name: "default"}}, Pending: []string{"defualt", "kafka", "otelsq"},
		Unmatched: []wire.UnmatchedRule{{Rule: "libb = g", Nearest: "lib"}, {Rule: "x = g"}}, File: &wire.File{Path: "/f", Problem: "it is blank"},
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.Scopes = append(s.Scopes, wire.Scope{Name: name, Sites: []wire.Site{{Groups: []string{"g"}}, {Spans: wire.Spans{Started: "1"}}}})
	}
	html := render(t, s, time.Time{})
	for _, text := range []string{
		"not registered: defualt (did you mean default?), kafka, otelsq (did you mean otelsql?)<",
		"Rules that match no scope: libb = g (did you mean lib?)<",
		"5 scopes have spans in no group, which are always on: a, b, c, d, and 1 more<",
		"<b>The file <bdi>/f</bdi> can’t be used, so the last baseline stays:</b> it is blank<",
	} {
		assert.Contains(t, html, text)
	}
	s.Scopes = s.Scopes[:1]
	assert.Contains(t, render(t, s, time.Time{}), "1 scope has spans in no group, which are always on: a<")
}

func TestEndOfALeaseIsShownAsATimeToo(t *testing.T) {
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	assert.Contains(t, render(t, wire.State{Leases: []wire.Lease{{End: end}}}, time.Time{}), `<span class="left">1:00</span> <span class="hint end">at 02:04 UTC</span></time>`)
}

func TestTagChangesWithWhatThePageShows(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := wire.State{Generation: "g"}
	tag := func(after time.Duration) string { return New(s).Tag(now.Add(after)) }
	idle := tag(0)
	assert.Equal(t, idle, tag(time.Hour), "nothing counts down")
	s.Roots = []string{"server"}
	assert.NotEqual(t, idle, tag(0))
	s.Roots, s.File = nil, &wire.File{Problem: "it is blank"}
	assert.NotEqual(t, idle, tag(0))
	s.File, s.Leases = nil, []wire.Lease{{ID: "a"}}
	leased := tag(0)
	assert.Equal(t, leased, tag(refresh-1))
	assert.NotEqual(t, leased, tag(refresh))
	s.Generation = "h"
	assert.NotEqual(t, leased, tag(0))
	assert.Contains(t, render(t, s, now), `data-generation="h" data-tag="`+strings.ReplaceAll(tag(0), `"`, "&#34;")+`"`)
}

func TestCountdownsAndChanges(t *testing.T) {
	for d, text := range map[time.Duration]string{
		0: "0:00", time.Nanosecond: "0:01", time.Second: "0:01", 61 * time.Second: "1:01",
		time.Hour - time.Nanosecond: "1:00:00", 26*time.Hour + 3*time.Second: "26:00:03", -time.Second: "0:00",
	} {
		assert.Equal(t, text, clock(d), d)
	}
	for words, c := range map[string]wire.Change{
		"on: c · off: a":         {Old: []string{"a", "b"}, New: []string{"b", "c"}},
		"on: b, c":               {New: []string{"b", "c"}},
		"off: a":                 {Old: []string{"a"}},
		"nothing went on or off": {Old: []string{"a"}, New: []string{"a"}},
	} {
		assert.Contains(t, render(t, wire.State{Changes: []wire.Change{c}}, time.Time{}), `<p class="hint">`+words+"</p>")
	}
}
