// SPDX-License-Identifier: Apache-2.0

package page

import (
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

// sources returns the page and what it loads, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"index.html": index}
	entries, err := fs.ReadDir(Files, ".")
	require.NoError(t, err)
	for _, entry := range entries {
		content, err := fs.ReadFile(Files, entry.Name())
		require.NoError(t, err)
		all[entry.Name()] = string(content)
	}
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
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function", "javascript:", "style=", "Storage", "document.cookie", "location.search", "location.hash"} {
			assert.NotContains(t, content, bad, name)
		}
		for _, address := range regexp.MustCompile(`\w+://[^\s"'<]*`).FindAllString(content, -1) {
			assert.Equal(t, "http://www.w3.org/2000/svg", address, name)
		}
	}
	assert.NotRegexp(t, `\son\w+=`, index)
}

// What is loaded by a relative address is there, with a type that a browser takes.
func TestWhatThePageLoadsIsThere(t *testing.T) {
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	for name, content := range sources(t) {
		if name != "index.html" {
			assert.Equal(t, types[path.Ext(name)], ContentType(name), name)
		}
		for _, found := range regexp.MustCompile(`(?:href|src)="page/([^"]*)"|from '\./([^']*)'`).FindAllStringSubmatch(content, -1) {
			_, err := fs.Stat(Files, found[1]+found[2])
			assert.NoError(t, err, name)
		}
	}
	for _, found := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(index, -1) {
		assert.Truef(t, strings.HasPrefix(found[1], "page/"), "%s does not work below a prefix", found[1])
	}
	assert.Equal(t, "application/octet-stream", ContentType("other"))
}

func TestEmptyStateIsAPage(t *testing.T) {
	var b strings.Builder
	require.NoError(t, New(wire.State{}).Write(&b, time.Time{}, false, nil))
	for _, want := range []string{"0 of 0 groups on", "None is registered.", "What is on without leases: <code id=\"spec-now\">nothing</code>"} {
		assert.Contains(t, b.String(), want)
	}
}

func TestReasons(t *testing.T) {
	leases := []wire.Lease{{ID: "a", Owner: "ada"}, {ID: "b", Owner: "bob"}}
	left := func(lease int) time.Duration { return []time.Duration{244200 * time.Millisecond, time.Hour}[lease] }
	for _, c := range []struct {
		state wire.State
		group wire.Group
		want  string
	}{
		{wire.State{}, wire.Group{}, ""},
		{wire.State{}, wire.Group{On: true, Baseline: true}, "baseline"},
		{wire.State{}, wire.Group{On: true, Baseline: true, Leases: []string{"a", "b"}}, "baseline · lease of ada, 4:05 · lease of bob, 1:00:00"},
		{wire.State{}, wire.Group{On: true, Leases: []string{"a", "a", "a", "a", "a", "a"}}, "lease of ada, 4:05 · lease of ada, 4:05 · lease of ada, 4:05 · lease of ada, 4:05 · 2 more leases"},
		{wire.State{}, wire.Group{Baseline: true, Quiet: []string{"b"}}, "baseline · quieted by lease of bob, 1:00:00"},
		{wire.State{}, wire.Group{On: true, Baseline: true, Quiet: []string{"b"}, Leases: []string{"a"}}, "baseline · quieted by lease of bob, 1:00:00 · lease of ada, 4:05"},
		{wire.State{}, wire.Group{Quiet: []string{"a", "a", "a", "a", "a"}}, "quieted by lease of ada, 4:05 · quieted by lease of ada, 4:05 · quieted by lease of ada, 4:05 · quieted by lease of ada, 4:05 · quieted by 1 more leases"},
		{wire.State{}, wire.Group{On: true, Baseline: true, Quiet: []string{"b"}}, "baseline · quieted by lease of bob, 1:00:00 · set on the registry itself"},
		{wire.State{Deny: "x"}, wire.Group{Withheld: true, Baseline: true}, "baseline · kept off by the deny list"},
		{wire.State{Ceiling: "x"}, wire.Group{Withheld: true}, "kept off by the ceiling"},
		{wire.State{Deny: "x", Ceiling: "x"}, wire.Group{Withheld: true}, "kept off by the deny list or the ceiling"},
		{wire.State{}, wire.Group{On: true}, "set on the registry itself"},
		{wire.State{}, wire.Group{Baseline: true}, "baseline · set on the registry itself"},
	} {
		c.state.Leases = leases
		v := newView(c.state)
		v.left = left
		assert.Equal(t, c.want, strings.Join(v.Because(c.group), " · "))
	}
}

func TestWhatALeaseDoes(t *testing.T) {
	for want, l := range map[string]wire.Lease{
		"nothing": {}, "a": {Spec: "a"}, "quiet b": {Quiet: "b"}, "a · quiet b": {Spec: "a", Quiet: "b"},
	} {
		assert.Equal(t, want, view{}.Does(l))
	}
}

func TestDurationsAndDiffs(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", time.Nanosecond: "0:01", time.Second: "0:01", 61 * time.Second: "1:01",
		time.Hour - time.Nanosecond: "1:00:00", 26*time.Hour + 3*time.Second: "26:00:03", -time.Second: "0:00",
	} {
		assert.Equal(t, want, clock(d), d)
	}
	assert.Equal(t, "on: c · off: a", diff([]string{"a", "b"}, []string{"b", "c"}))
	assert.Equal(t, "nothing went on or off", diff([]string{"a"}, []string{"a"}))
}
