// SPDX-License-Identifier: Apache-2.0

// Package test tests the page in headless Chromium, against the real endpoint over real gates.
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

// chromium is the browser of all tests. Each test has a tab and a profile of its own.
var chromium context.Context

func TestMain(m *testing.M) {
	// A test mostly waits for the page, so many run at once on any number of processors. The flag
	// on the command line takes precedence.
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
		// A fresh clone is tested without Chromium: go test says "no tests to run".
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

// visit is a program, and a tab that shows its page.
type visit struct {
	*program.Program
	t        *testing.T
	tab      *browser.Tab
	expected []string // the kinds of complaints that do not fail the test
}

var anyone = []control.HandlerOption{control.Authorize(control.Anyone())}

// prepare starts a program and opens a tab. At the end of the test, the page must have sent no
// request to another host, violated no policy and logged nothing.
func prepare(t *testing.T, endpoint []control.HandlerOption, options ...control.Option) *visit {
	t.Helper()
	t.Parallel()
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
			hasKind := func(kind string) bool { return strings.HasPrefix(complaint, kind) }
			assert.True(t, slices.ContainsFunc(v.expected, hasKind), "the page complains: %s", complaint)
		}
		closeTab()
		_ = p.Close() // the test may have stopped it
	})
	return v
}

// expectComplaints allows complaints of these kinds, such as that a refusal has an error status.
func (v *visit) expectComplaints(kinds ...string) { v.expected = append(v.expected, kinds...) }

// open calls prepare and opens the page.
func open(t *testing.T, endpoint []control.HandlerOption, options ...control.Option) *visit {
	t.Helper()
	v := prepare(t, endpoint, options...)
	v.reload()
	return v
}

// reload opens the page and waits until its script runs.
func (v *visit) reload() {
	v.t.Helper()
	require.NoError(v.t, v.tab.Do(chromedp.Navigate(v.URL)))
	v.waitFor("document.documentElement.classList.contains('live')")
}

// waitFor waits until a JavaScript expression is true.
func (v *visit) waitFor(expression string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), browser.Timeout)
	defer cancel()
	var last error
	if program.WaitUntil(ctx, func() bool {
		is, err := browser.Evaluate[bool](v.tab, "!!("+expression+")")
		last = err
		return is
	}) {
		return
	}
	text, _ := browser.Evaluate[string](v.tab, "[...document.querySelectorAll('.notice, #leases, #baseline, #changes')].map((e) => e.innerText).join('\\n')")
	require.Fail(v.t, "timed out waiting for the page", "%s (%v)\n%s", expression, last, text)
}

// waitForText waits until a visible element contains a text.
func (v *visit) waitForText(selector, text string) {
	v.t.Helper()
	v.waitFor(fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.checkVisibility() && e.innerText.includes(%s))", selector, quoted(text)))
}

// quoted returns a JavaScript literal of the text.
func quoted(text string) string {
	literal, _ := json.Marshal(text) // a string has JSON
	return string(literal)
}

// waitForState waits until a preset or group is shown as on, off or mixed.
func (v *visit) waitForState(list, name, state string) {
	v.t.Helper()
	v.waitFor(fmt.Sprintf("[...document.querySelectorAll('#%s > .row')].some((row) => row.querySelector('.name bdi').innerText === %q && row.querySelector('.state').innerText === %q)", list, name, state))
}

// waitUntil waits until a condition holds in the program.
func (v *visit) waitUntil(condition func() bool, message string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), browser.Timeout)
	defer cancel()
	require.True(v.t, program.WaitUntil(ctx, condition), message)
}

// value returns the value of a JavaScript expression.
func value[T any](v *visit, expression string) T {
	v.t.Helper()
	got, err := browser.Evaluate[T](v.tab, expression)
	require.NoError(v.t, err, expression)
	return got
}

// click clicks the button of this accessible name.
func (v *visit) click(label string) {
	v.t.Helper()
	selector := fmt.Sprintf(`//button[@aria-label=%q or not(@aria-label) and normalize-space()=%q]`, label, label)
	require.NoError(v.t, v.tab.Do(chromedp.Click(selector, chromedp.NodeVisible)))
}

// fill types text at the end of a field.
func (v *visit) fill(id, text string) {
	v.t.Helper()
	value[bool](v, "((field) => field.setSelectionRange(field.value.length, field.value.length) ?? true)(document.getElementById("+quoted(id)+"))")
	require.NoError(v.t, v.tab.Do(chromedp.SendKeys(chromedp.CSS("#"+id), text)))
}

// clear selects all of a field and deletes it.
func (v *visit) clear(id string) {
	v.t.Helper()
	require.NoError(v.t, v.tab.Do(chromedp.Focus(chromedp.CSS("#"+id))))
	value[bool](v, "document.activeElement.select() ?? true")
	require.NoError(v.t, v.tab.Do(chromedp.KeyEvent("\b")))
}
