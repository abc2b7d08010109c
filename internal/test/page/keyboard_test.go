// SPDX-License-Identifier: Apache-2.0

package test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
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

func TestKeyboardAloneLeasesAndReleases(t *testing.T) {
	v := open(t, anyone)
	v.tabTo("Your name")
	v.press("ada")
	v.tabTo("Lease sandbox for 5 minutes")
	v.press("\r")
	v.waitUntil(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the gate stays off")
	v.waitForState("groups", "sandbox", "on")
	assert.Equal(t, "Lease sandbox for 5 minutes", value[string](v, focused), "the focus stays")

	v.tabTo("Release sandbox of ada")
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
	v.tabTo("Release agent of ada")
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

func TestTabReachesEveryControlWithVisibleFocus(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("ada", "agent", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#leases", "ada")
	all := value[[]string](v, "[...document.querySelectorAll('button, input')].filter((e) => e.checkVisibility()).map((e) => e.ariaLabel ?? e.labels?.[0]?.innerText.trim() ?? e.innerText)")
	var got []string
	for range all {
		v.press("\t")
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

func TestControlsHaveAccessibleNames(t *testing.T) {
	v := open(t, anyone)
	nodes, err := v.tab.Accessible()
	require.NoError(t, err)
	roles := map[string]int{}
	for _, n := range nodes {
		roles[n.Role]++
		switch n.Role {
		case "button", "textbox", "checkbox", "region", "heading":
			assert.NotEmpty(t, n.Name, n.Role)
		}
	}
	assert.Equal(t, 3+1, roles["textbox"])
	assert.Equal(t, 1, roles["checkbox"])
	assert.Equal(t, 6, roles["region"])
	assert.NotZero(t, roles["status"])
}
