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
	v.showsState("groups", "sandbox", "off")
	require.False(t, v.Gym.On(spangate.BitSandbox))

	v.fill("owner", "ada")
	v.fill("why", "node 7")
	v.click("Lease sandbox for 5 minutes")

	v.is(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the gate stays off")
	v.showsState("groups", "sandbox", "on")
	v.shows("#leases", "ada: node 7")
	v.shows("#groups .because", "lease of ada, ")
	v.shows("#summary", "2 of 17 groups on · 1 lease")
	v.sees(`document.getElementById('latest').textContent === 'lease by ada. on: sandbox'`)
	assert.InDelta(t, 5*time.Minute, v.Controller.State().Leases[0].Left, float64(time.Minute))
	assert.Equal(t, "job", v.Controller.State().Baseline.Spec, "a lease leaves the baseline alone")

	v.click("Release sandbox of ada")
	v.is(func() bool { return !v.Gym.On(spangate.BitSandbox) }, "the gate stays on")
	v.showsState("groups", "sandbox", "off")
	v.shows("#leases-none", "None.")
}

func TestClickQuietsAGroupOfTheBaseline(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job,sandbox"}))
	v.showsState("groups", "sandbox", "on")
	labels := value[[]string](v, "[...document.querySelectorAll('#groups button')].filter((b) => b.checkVisibility()).map((b) => b.ariaLabel)")
	assert.Contains(t, labels, "Quiet job for 30 minutes")
	assert.NotContains(t, labels, "Quiet agent for 1 minute", "the baseline does not have it")

	v.fill("owner", "ada")
	v.click("Quiet sandbox for 5 minutes")
	v.is(func() bool { return !v.Gym.On(spangate.BitSandbox) }, "the gate stays on")
	v.showsState("groups", "sandbox", "off")
	v.shows("#leases", "quiet sandbox")
	v.shows("#groups .because", "quieted by lease of ada, ")
	assert.Equal(t, "sandbox", v.Controller.State().Leases[0].Quiet)

	l, err := v.Lease("grace", "sandbox", "", time.Hour)
	require.NoError(t, err)
	v.showsState("groups", "sandbox", "on")
	v.shows("#groups .because", "quieted by lease of ada, ")
	v.shows("#groups .because", "lease of grace, ")
	require.NoError(t, l.Release())
	v.showsState("groups", "sandbox", "off")
	v.click("Release quiet sandbox of ada")
	v.showsState("groups", "sandbox", "on")
	v.shows("#leases-none", "None.")
}

func TestClickLeasesAPresetOfTwoNamespaces(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.showsState("presets", "default", "mixed")
	v.showsState("presets", "per_rollout", "off")
	v.fill("owner", "ada")
	v.click("Lease default for 1 minute")
	v.is(func() bool { return v.Gym.Load().HasAll(spangate.PresetDefault) && v.DB.On(1) }, "the gates stay off")
	v.showsState("presets", "default", "on")
	v.showsState("presets", "all", "mixed")
	v.sees(`/^(1:00|0:\d\d)$/.test(document.querySelector('#leases .left').innerText)`)
}

func TestLeaseThatExpiresTurnsTheGateOffInSightOfThePage(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "verify", "a look", 8*time.Second)
	require.NoError(t, err)
	v.showsState("groups", "verify", "on")
	v.shows("#leases .left", "0:0")
	require.True(t, v.Gym.On(spangate.BitVerify))

	v.is(func() bool { return !v.Gym.On(spangate.BitVerify) }, "the lease does not end")
	v.showsState("groups", "verify", "off")
	v.shows("#leases-none", "None.")
	v.shows("#changes", "expiry")
}

func TestCountdownMovesBetweenChanges(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "verify", "", 65*time.Minute)
	require.NoError(t, err)
	v.sees(`/^1:0\d:\d\d$/.test(document.querySelector('#leases .left')?.innerText)`)
	before := value[string](v, "document.querySelector('#leases .left').innerText")
	v.sees("document.querySelector('#leases .left').innerText < '" + before + "'")
}

func TestDoubleClickIsOneLease(t *testing.T) {
	v := open(t, anyone)
	v.fill("owner", "ada")
	// As if the list had moved between the two clicks.
	value[bool](v, `['agent', 'verify'].every((name) => document.querySelector('[aria-label="Lease ' + name + ' for 5 minutes"]').click() ?? true)`)
	v.showsState("groups", "agent", "on")
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
	v.is(func() bool { return len(v.Controller.State().Leases) == 2 }, "a later click is another lease")
	v.hide() // when it has nothing more to ask
	assert.Len(t, v.Controller.State().Leases, 2)
	assert.False(t, v.Gym.On(spangate.BitVerify))
}

func TestNoButtonOffersMoreThanALeaseMayLast(t *testing.T) {
	v := open(t, anyone, control.MaxTTL(5*time.Minute), control.Deny("job"))
	labels := value[[]string](v, "[...document.querySelectorAll('#groups button')].filter((b) => b.checkVisibility()).map((b) => b.ariaLabel)")
	assert.Contains(t, labels, "Lease agent for 5 minutes")
	assert.NotContains(t, labels, "Lease agent for 30 minutes")
	assert.NotContains(t, labels, "Lease job for 1 minute", "what is kept off can't be leased")
	v.shows("#groups .because", "kept off by the deny list")
	v.shows("#limits", "Never on: job")
}

func TestLeaseWithoutANameAsksForOne(t *testing.T) {
	v := open(t, anyone)
	v.expects("network: ")
	v.click("Lease agent for 1 minute")
	v.shows("#refused", "say whose lease it is")
	v.sees("document.activeElement.id === 'owner' && document.activeElement.ariaInvalid === 'true'")
	assert.Empty(t, v.Controller.State().Leases)

	v.fill("owner", "ada\r") // Enter asks again
	v.showsState("groups", "agent", "on")
	v.sees("document.getElementById('refused').hidden && document.getElementById('owner').ariaInvalid === null")
}

func TestThousandsOfLeasesAreSummedUp(t *testing.T) {
	v := prepare(t, anyone)
	for range 3000 {
		_, err := v.Lease("fleet", "agent", "", time.Hour)
		require.NoError(t, err)
	}
	v.reload()
	v.shows("#leases-more", "and 2900 more, which end later")
	v.shows("#groups .because", "2996 more leases")
	assert.Equal(t, 100, value[int](v, "document.querySelectorAll('#leases > .row').length"))
}
