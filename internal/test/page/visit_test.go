// SPDX-License-Identifier: Apache-2.0

// Package test looks at the page with a real browser: the endpoint over real gates on one
// side, headless Chromium on the other.
package test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/internal/test/page/browser"
	"github.com/spangate/spangate/internal/test/page/program"
)

// chromium is the browser of all tests; each has a tab and a profile of its own in it.
var chromium context.Context

func TestMain(m *testing.M) {
	// Most of a test is waiting for the page, so many go on at once, however few processors
	// there are. A flag of the command line has the last word.
	_ = flag.Set("test.parallel", "8")
	os.Exit(run(m))
}

func run(m *testing.M) int {
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(profile)
	ctx, stop, err := browser.Start(profile)
	if errors.Is(err, browser.ErrMissing) && os.Getenv("CI") == "" {
		// Who has just cloned the repository need not have it. That go test says
		// "no tests to run" of this package is then the truth.
		fmt.Fprintln(os.Stderr, err)
		flag.Parse()
		flag.Set("test.run", "^$")
		return m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	chromium = ctx
	return m.Run()
}

// visit is somebody who looks at the page of a program.
type visit struct {
	*program.Program
	t        *testing.T
	tab      *browser.Tab
	expected []string // the kinds of complaints that the test is about
}

var anyone = []control.HandlerOption{control.Authorize(control.Anyone())}

// prepare starts a program and opens a tab. When the test ends, the page must have asked no
// other host, broken no policy and complained of nothing.
func prepare(t *testing.T, endpoint []control.HandlerOption, options ...control.Option) *visit {
	t.Helper()
	t.Parallel() // most of a test is waiting
	p, err := program.Start(endpoint, options...)
	require.NoError(t, err)
	tab, closeTab, err := browser.Open(chromium)
	require.NoError(t, err)
	v := &visit{Program: p, t: t, tab: tab}
	t.Cleanup(func() {
		address, err := url.Parse(p.URL)
		require.NoError(t, err)
		assert.Equal(t, []string{address.Host}, tab.Hosts())
		for _, complaint := range tab.Complaints() {
			is := func(kind string) bool { return strings.HasPrefix(complaint, kind) }
			assert.True(t, slices.ContainsFunc(v.expected, is), "the page complains: %s", complaint)
		}
		closeTab()
		_ = p.Close() // it may have been away already
	})
	return v
}

// expects says that there will be complaints of some kinds, as of an answer that is a refusal.
func (v *visit) expects(kinds ...string) { v.expected = append(v.expected, kinds...) }

// open is prepare, and the page opened and running.
func open(t *testing.T, endpoint []control.HandlerOption, options ...control.Option) *visit {
	t.Helper()
	v := prepare(t, endpoint, options...)
	v.reload()
	return v
}

// reload opens the page and waits until its script has taken over.
func (v *visit) reload() {
	v.t.Helper()
	require.NoError(v.t, v.tab.Do(chromedp.Navigate(v.URL)))
	v.sees("document.documentElement.classList.contains('live')")
}

// sees waits until a JavaScript expression is true.
func (v *visit) sees(expression string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), browser.Patience)
	defer cancel()
	var last error
	if program.Until(ctx, func() bool {
		is, err := browser.Evaluate[bool](v.tab, "!!("+expression+")")
		last = err
		return is
	}) {
		return
	}
	text, _ := browser.Evaluate[string](v.tab, "[...document.querySelectorAll('.notice, #leases, #baseline, #changes')].map((e) => e.innerText).join('\\n')")
	require.Fail(v.t, "the page does not come to show it", "%s (%v)\n%s", expression, last, text)
}

// shows waits until an element contains a text.
func (v *visit) shows(selector, text string) {
	v.t.Helper()
	v.sees(fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%s))", selector, quoted(text)))
}

// quoted returns a JavaScript literal of the text.
func quoted(text string) string {
	literal, _ := json.Marshal(text) // a string has JSON
	return string(literal)
}

// showsState waits until a preset or group is shown as on, off or mixed.
func (v *visit) showsState(list, name, state string) {
	v.t.Helper()
	v.sees(fmt.Sprintf("[...document.querySelectorAll('#%s > .row')].some((row) => row.querySelector('.name bdi').innerText === %q && row.querySelector('.state').innerText === %q)", list, name, state))
}

// is waits until something is so in the program.
func (v *visit) is(what func() bool, message string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), browser.Patience)
	defer cancel()
	require.True(v.t, program.Until(ctx, what), message)
}

// value returns what a JavaScript expression is now.
func value[T any](v *visit, expression string) T {
	v.t.Helper()
	got, err := browser.Evaluate[T](v.tab, expression)
	require.NoError(v.t, err, expression)
	return got
}

// click clicks the button of this accessible name with the mouse.
func (v *visit) click(label string) {
	v.t.Helper()
	selector := fmt.Sprintf(`//button[@aria-label=%q or not(@aria-label) and normalize-space()=%q]`, label, label)
	require.NoError(v.t, v.tab.Do(chromedp.Click(selector, chromedp.NodeVisible)))
}

// fill types into a field, after what is in it.
func (v *visit) fill(id, text string) {
	v.t.Helper()
	value[bool](v, "((field) => field.setSelectionRange(field.value.length, field.value.length) ?? true)(document.getElementById("+quoted(id)+"))")
	require.NoError(v.t, v.tab.Do(chromedp.SendKeys(chromedp.CSS("#"+id), text)))
}

// clear empties a field as somebody does who selects everything and deletes it.
func (v *visit) clear(id string) {
	v.t.Helper()
	require.NoError(v.t, v.tab.Do(chromedp.Focus(chromedp.CSS("#"+id))))
	value[bool](v, "document.activeElement.select() ?? true")
	require.NoError(v.t, v.tab.Do(chromedp.KeyEvent("\b")))
}
