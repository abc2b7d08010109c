// SPDX-License-Identifier: Apache-2.0

package test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

func TestClickLeasesAGroupAndFlipsTheGate(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.waitForState("groups", "sandbox", "off")
	require.False(t, v.Gym.On(spangate.BitSandbox))

	v.fill("owner", "ada")
	v.fill("why", "node 7")
	v.click("Lease sandbox for 5 minutes")

	v.waitUntil(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the gate stays off")
	v.waitForState("groups", "sandbox", "on")
	v.waitForText("#leases", "ada: node 7")
	v.waitForText("#groups .because", "lease of ada, ")
	v.waitForText("#summary", "2 of 17 groups on · 1 lease")
	v.waitFor(`document.getElementById('latest').textContent === 'lease by ada. on: sandbox'`)
	assert.InDelta(t, 5*time.Minute, v.Controller.State().Leases[0].Left, float64(time.Minute))
	assert.Equal(t, "job", v.Controller.State().Baseline.Spec, "a lease leaves the baseline alone")

	v.click("Release sandbox of ada")
	v.waitUntil(func() bool { return !v.Gym.On(spangate.BitSandbox) }, "the gate stays on")
	v.waitForState("groups", "sandbox", "off")
	v.waitForText("#leases-none", "None.")
}

func TestClickQuietsAGroupOfTheBaseline(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job,sandbox"}))
	v.waitForState("groups", "sandbox", "on")
	labels := value[[]string](v, "[...document.querySelectorAll('#groups button')].filter((b) => b.checkVisibility()).map((b) => b.ariaLabel)")
	assert.Contains(t, labels, "Quiet job for 30 minutes")
	assert.NotContains(t, labels, "Quiet agent for 1 minute", "the baseline does not have it")

	v.fill("owner", "ada")
	v.click("Quiet sandbox for 5 minutes")
	v.waitUntil(func() bool { return !v.Gym.On(spangate.BitSandbox) }, "the gate stays on")
	v.waitForState("groups", "sandbox", "off")
	v.waitForText("#leases", "quiet sandbox")
	v.waitForText("#groups .because", "quieted by lease of ada, ")
	assert.Equal(t, "sandbox", v.Controller.State().Leases[0].Quiet)

	l, err := v.Lease("grace", "sandbox", "", time.Hour)
	require.NoError(t, err)
	v.waitForState("groups", "sandbox", "on")
	v.waitForText("#groups .because", "quieted by lease of ada, ")
	v.waitForText("#groups .because", "lease of grace, ")
	require.NoError(t, l.Release())
	v.waitForState("groups", "sandbox", "off")
	v.click("Release quiet sandbox of ada")
	v.waitForState("groups", "sandbox", "on")
	v.waitForText("#leases-none", "None.")
}

func TestClickLeasesAPresetOfTwoNamespaces(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	assert.False(t, value[bool](v, "document.querySelector('#presets').checkVisibility()"), "presets are folded")
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#presets-title"))))
	v.waitForState("presets", "default", "mixed")
	v.waitForState("presets", "per_rollout", "off")
	v.waitForText("#presets-fold", "mixed if only some of them are")
	v.fill("owner", "ada")
	v.click("Lease default for 1 minute")
	v.waitUntil(func() bool { return v.Gym.Load().HasAll(spangate.PresetDefault) && v.DB.On(1) }, "the gates stay off")
	v.waitForState("presets", "default", "on")
	v.waitForState("presets", "all", "mixed")
	v.waitFor(`/^(1:00|0:\d\d)$/.test(document.querySelector('#leases .left').innerText)`)
}

func TestExpiryOfALeaseIsShown(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "verify", "a look", 8*time.Second)
	require.NoError(t, err)
	v.waitForState("groups", "verify", "on")
	v.waitForText("#leases .left", "0:0")
	require.True(t, v.Gym.On(spangate.BitVerify))

	v.waitUntil(func() bool { return !v.Gym.On(spangate.BitVerify) }, "the lease does not end")
	v.waitForState("groups", "verify", "off")
	v.waitForText("#leases-none", "None.")
	v.waitForText("#changes", "expiry")
}

func TestCountdownMovesBetweenChanges(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "verify", "", 65*time.Minute)
	require.NoError(t, err)
	v.waitFor(`/^1:0\d:\d\d$/.test(document.querySelector('#leases .left')?.innerText)`)
	before := value[string](v, "document.querySelector('#leases .left').innerText")
	v.waitFor("document.querySelector('#leases .left').innerText < '" + before + "'")
}

func TestDoubleClickIsOneLease(t *testing.T) {
	v := open(t, anyone)
	v.fill("owner", "ada")
	// Two buttons, as if the list had moved between the two clicks.
	value[bool](v, `['agent', 'verify'].every((name) => document.querySelector('[aria-label="Lease ' + name + ' for 5 minutes"]').click() ?? true)`)
	v.waitForState("groups", "agent", "on")
	time.Sleep(time.Second)
	at := value[[]float64](v, `((button) => {
		button.scrollIntoView();
		const { x, y } = button.getBoundingClientRect();
		return [x + 9, y + 9];
	})(document.querySelector('[aria-label="Lease agent for 1 minute"]'))`)
	require.NoError(t, v.tab.Do(
		chromedp.MouseClickXY(at[0], at[1]),
		chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(2)),
	))
	v.waitUntil(func() bool { return len(v.Controller.State().Leases) == 2 }, "a later click is another lease")
	v.hide() // waits until no request is left
	assert.Len(t, v.Controller.State().Leases, 2)
	assert.False(t, v.Gym.On(spangate.BitVerify))
}

func TestButtonsOfferOnlyWhatLimitsAllow(t *testing.T) {
	v := open(t, anyone, control.MaxTTL(5*time.Minute), control.Deny("job"))
	labels := value[[]string](v, "[...document.querySelectorAll('#groups button')].filter((b) => b.checkVisibility()).map((b) => b.ariaLabel)")
	assert.Contains(t, labels, "Lease agent for 5 minutes")
	assert.NotContains(t, labels, "Lease agent for 30 minutes")
	assert.NotContains(t, labels, "Lease job for 1 minute", "what is kept off can't be leased")
	v.waitForText("#groups .because", "kept off by the deny list")
	v.waitForText("#limits", "Never on: job")
}

func TestLeaseWithoutOwnerAsksForTheName(t *testing.T) {
	v := open(t, anyone)
	v.expectComplaints("network: ")
	v.click("Lease agent for 1 minute")
	v.waitForText("#refused", "say whose lease it is")
	v.waitFor("document.activeElement.id === 'owner' && document.activeElement.ariaInvalid === 'true'")
	assert.Empty(t, v.Controller.State().Leases)

	v.fill("owner", "ada\r") // Enter sends the refused change again
	v.waitForState("groups", "agent", "on")
	v.waitFor("document.getElementById('refused').hidden && document.getElementById('owner').ariaInvalid === null")
}

func TestOnlyTheFirstOfThousandsOfLeasesAreListed(t *testing.T) {
	v := prepare(t, anyone)
	for range 3000 {
		_, err := v.Lease("fleet", "agent", "", time.Hour)
		require.NoError(t, err)
	}
	v.reload()
	v.waitForText("#leases-more", "and 2900 more, which end later")
	v.waitForText("#groups .because", "2996 more leases")
	assert.Equal(t, 100, value[int](v, "document.querySelectorAll('#leases > .row').length"))
}

func TestFormGrantsALeaseThatAddsAndQuiets(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job,agent"}))
	v.fill("owner", "ada")
	v.fill("why", "node 7")
	v.fill("add", "sandbox,verify")
	v.fill("quiet", "agent")
	v.clear("ttl")
	v.fill("ttl", "45m")
	v.click("Lease")
	v.waitForText("#leases", "sandbox,verify · quiet agent")
	v.waitForText("#now-quiet", "agent")
	l := v.Controller.State().Leases[0]
	assert.Equal(t, []string{"ada", "node 7", "sandbox,verify", "agent"}, []string{l.Owner, l.Why, l.Spec, l.Quiet})
	assert.InDelta(t, 45*time.Minute, l.Left, float64(time.Minute))

	// What was leased is not in the form any more, so that Enter does not lease it again.
	v.waitFor("document.getElementById('add').value + document.getElementById('quiet').value === ''")
	assert.Equal(t, "45m", value[string](v, "document.getElementById('ttl').value"))
}

func TestMistakeInTheFormIsMarkedAndChangesNothing(t *testing.T) {
	for field, text := range map[string]string{"add": "sandbx", "quiet": "jb", "ttl": "m"} {
		t.Run(field, func(t *testing.T) {
			v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
			v.expectComplaints("network: ")
			v.fill("owner", "ada")
			if field == "ttl" {
				v.fill("add", "agent")
			}
			v.fill(field, text+"\r")
			v.waitForText("#refused", "Nothing was changed: ")
			v.waitFor("document.activeElement.id === " + quoted(field) + " && document.activeElement.ariaInvalid === 'true'")
			assert.Empty(t, v.Controller.State().Leases)
			colour := value[string](v, "getComputedStyle(document.getElementById('reason')).color")
			assert.NotEqual(t, colour, value[string](v, "getComputedStyle(document.body).color"), "an error looks like an error")
			assert.Equal(t, colour, value[string](v, "getComputedStyle(document.activeElement).borderTopColor"))
		})
	}
}

func TestExtendAddsToWhatIsLeft(t *testing.T) {
	v := open(t, anyone, control.MaxTTL(time.Hour))
	_, err := v.Lease("grace", "verify", "", 20*time.Minute)
	require.NoError(t, err)
	v.waitForText("#leases", "grace")
	v.click("Extend verify of grace by 5 minutes")
	v.waitUntil(func() bool { return v.Controller.State().Leases[0].Left > 24*time.Minute }, "the lease is not extended")
	v.waitFor(`/^24:5\d$|^25:00$/.test(document.querySelector('#leases .left').innerText)`)
	time.Sleep(500 * time.Millisecond) // a click within this time is the second of a double click
	v.click("Extend verify of grace by 30 minutes")
	v.waitUntil(func() bool { return v.Controller.State().Leases[0].Left > 54*time.Minute }, "the lease is not extended")
	// 30 minutes more would be beyond the longest time to live.
	v.waitFor("!document.querySelector('[aria-label=\"Extend verify of grace by 30 minutes\"]')")
}

func TestReleaseOfAnothersLeaseAsksForTheName(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "verify", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#leases", "grace")
	v.click("Release verify of grace")
	v.waitForText("#refused", "Type your name and press Enter to release it.")
	v.waitFor("document.activeElement.id === 'owner' && document.activeElement.ariaInvalid === 'true'")
	v.hide() // waits until no request is left
	assert.Len(t, v.Controller.State().Leases, 1)
	v.unhide()
	v.fill("owner", "ada\r")
	v.waitForText("#leases-none", "None.")
	v.waitFor("document.getElementById('refused').hidden")
}

func TestFormLeasesWithoutScript(t *testing.T) {
	v := prepare(t, anyone)
	require.NoError(t, v.tab.WithoutScripts())
	require.NoError(t, v.tab.Do(chromedp.Navigate(v.URL)))
	for id, text := range map[string]string{"owner": "ada", "why": "node 7", "add": "sandbox"} {
		require.NoError(t, v.tab.Do(chromedp.SendKeys(chromedp.CSS("#"+id), text)))
	}
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#lease"))))
	v.waitUntil(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the gate stays off")
	v.waitForText("#leases", "ada: node 7")
	assert.Equal(t, v.URL, value[string](v, "location.href"))
}
