// SPDX-License-Identifier: Apache-2.0

package test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

// press presses keys.
func (v *visit) press(keys string) {
	v.t.Helper()
	require.NoError(v.t, v.tab.Do(chromedp.KeyEvent(keys)))
}

// focused is the accessible name of the element that has the focus.
const focused = `(() => {
	const e = document.activeElement;
	return e.ariaLabel ?? e.labels?.[0]?.innerText.trim() ?? (e === document.body ? '' : e.innerText);
})()`

// tabTo presses Tab until the element of this accessible name has the focus.
func (v *visit) tabTo(name string) {
	v.t.Helper()
	for range 100 {
		v.press("\t")
		if value[string](v, focused) == name {
			return
		}
	}
	require.Fail(v.t, "Tab does not reach it", name)
}

// tabToRow presses Tab until the first button of a row has the focus, then → until the one of this
// accessible name has it.
func (v *visit) tabToRow(first, name string) {
	v.t.Helper()
	v.tabTo(first)
	for range 10 {
		if value[string](v, focused) == name {
			return
		}
		v.press(kb.ArrowRight)
	}
	require.Fail(v.t, "the arrow keys do not reach it", name)
}

func TestKeyboardAloneLeasesAndReleases(t *testing.T) {
	v := open(t, anyone)
	v.tabTo("Your name")
	v.press("ada")
	v.tabToRow("Lease sandbox for 1 minute", "Lease sandbox for 5 minutes")
	v.press("\r")
	v.waitUntil(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the gate stays off")
	v.waitForState("groups", "sandbox", "on")
	assert.Equal(t, "Lease sandbox for 5 minutes", value[string](v, focused), "the focus stays")

	v.tabToRow("Extend sandbox of ada by 5 minutes", "Release sandbox of ada")
	v.press(" ")
	v.waitUntil(func() bool { return !v.Gym.On(spangate.BitSandbox) }, "the gate stays on")
	v.waitFor("document.activeElement.id === 'leases-title'") // the button that had the focus is gone
	v.tabTo("Another baseline")
	v.press("verify\r")
	v.waitUntil(func() bool { return v.Gym.On(spangate.BitVerify) }, "the baseline stays")
}

func TestFocusStaysWhenRowsComeAndGo(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("ada", "agent", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#leases", "ada")
	v.tabToRow("Extend agent of ada by 5 minutes", "Release agent of ada")
	first, err := v.Lease("grace", "verify", "", time.Minute) // it is listed first, since it ends first
	require.NoError(t, err)
	v.waitForText("#leases", "grace")
	assert.Equal(t, "Release agent of ada", value[string](v, focused))
	require.NoError(t, first.Renew(2*time.Hour)) // goes behind it
	v.waitFor("/ada.*grace/s.test(document.getElementById('leases').innerText)")
	assert.Equal(t, "Release agent of ada", value[string](v, focused))
	require.NoError(t, first.Release())
	v.waitFor("!document.getElementById('leases').innerText.includes('grace')")
	assert.Equal(t, "Release agent of ada", value[string](v, focused))
}

func TestTabReachesEveryControlOrItsRowWithVisibleFocus(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	_, err := v.Lease("ada", "agent", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#leases", "ada")
	const visible = "[...document.querySelectorAll('button, input, summary, a')].filter((e) => e.checkVisibility())"
	all := value[[]string](v, visible+".map((e) => e.ariaLabel ?? e.labels?.[0]?.innerText.trim() ?? e.innerText)")
	var got []string
	for len(got) < len(all) {
		// Tab, or → if the next button is in the same row.
		v.press(map[bool]string{false: "\t", true: kb.ArrowRight}[value[bool](v, `((row) => !!row && [...row.querySelectorAll('button')].at(-1) !== document.activeElement)(document.activeElement.closest('.row'))`)])
		got = append(got, value[string](v, focused))
		assert.True(t, value[bool](v, `(() => {
			const style = getComputedStyle(document.activeElement);
			return style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2;
		})()`), "no visible focus: %s", got[len(got)-1])
	}
	assert.Equal(t, all, got)
	v.press("\t")
	assert.Empty(t, value[string](v, focused), "the focus stays in the page")
}

func TestRowIsOneTabStop(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.tabToRow("Lease job for 1 minute", "Quiet job for 5 minutes")
	v.press(kb.ArrowRight)
	v.press(kb.ArrowRight)
	assert.Equal(t, "Lease job for 1 minute", value[string](v, focused), "after the last comes the first")
	v.press(kb.ArrowLeft)
	v.press(kb.ArrowLeft)
	assert.Equal(t, "Quiet job for 5 minutes", value[string](v, focused))
	require.NoError(t, v.tab.Do(chromedp.KeyEvent("\t", chromedp.KeyModifiers(chromedp.ModifierShift))))
	assert.Equal(t, "on only", value[string](v, focused), "Shift and Tab leave the row")
	v.press("\t")
	v.press("\t")
	assert.Equal(t, "Lease agent for 1 minute", value[string](v, focused), "the next row")
}

func TestSkipLinkLeadsToTheGroups(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("ada", "agent", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#leases", "ada")
	assert.False(t, value[bool](v, "document.getElementById('skip').getBoundingClientRect().height > 10 && getComputedStyle(document.getElementById('skip')).clipPath === 'none'"), "visible only with the focus")
	v.press("\t")
	assert.Equal(t, "Skip to the groups", value[string](v, focused))
	assert.Equal(t, "none", value[string](v, "getComputedStyle(document.activeElement).clipPath"))
	v.press("\r")
	v.press("\t")
	assert.Equal(t, "Filter", value[string](v, focused))
}

func TestControlsHaveAccessibleNames(t *testing.T) {
	v := open(t, anyone)
	nodes, err := v.tab.Accessible()
	require.NoError(t, err)
	roles := map[string]int{}
	for _, n := range nodes {
		roles[n.Role]++
		switch n.Role {
		case "button", "textbox", "searchbox", "checkbox", "region", "heading", "toolbar":
			assert.NotEmpty(t, n.Name, n.Role)
		}
	}
	assert.Equal(t, 6+1, roles["textbox"])
	assert.Equal(t, 1, roles["searchbox"])
	assert.Equal(t, 2, roles["checkbox"])
	assert.Equal(t, 8, roles["region"])
	assert.NotZero(t, roles["toolbar"])
	assert.NotZero(t, roles["status"])
}
