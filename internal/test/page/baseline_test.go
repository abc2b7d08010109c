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

func TestBaselineIsSetFromTheField(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "default", Who: "flag"}))
	v.fill("owner", "ada")
	v.fill("why", "slow verifier")
	v.fill("spec", ",verify,-job\r")
	v.waitUntil(func() bool { return v.Gym.Load() == spangate.CrossProcessSpine|spangate.BitVerify }, "the gate stays")
	v.waitForText("#spec-now", "default,verify,-job")
	v.waitForText("#spec-who", "ada: slow verifier")

	v.click("Back to start-up")
	v.waitUntil(func() bool { return v.Gym.Load() == spangate.PresetDefault }, "the gate stays")
	v.waitFor("document.getElementById('spec').value === 'default'")
	v.waitForText("#spec-who", "flag")
}

func TestUnknownNameIsMarkedAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spec, mark, hint string
		start, end       int // of the selection, in UTF-16 code units
		corrected        string
	}{
		"a misspelling":     {"default,sandbx", "sandbx", "Byte 8: sandbx is not registered. Did you mean sandbox?", 8, 14, "default,sandbox"},
		"an exclusion":      {"all, -verfy ,job", "verfy", "Byte 6: verfy is not registered. Did you mean verify?", 6, 11, "all, -verify ,job"},
		"behind wide runes": {"\u00a0\u3000default,sandbx", "sandbx", "Byte 13: sandbx is not registered. Did you mean sandbox?", 10, 16, "\u00a0\u3000default,sandbox"},
		"beyond one plane":  {"🦊", "🦊", "Byte 0: 🦊 is not registered.", 0, 2, ""},
		"a byte order mark": {"\ufeffjob", "\ufeffjob", "Byte 0: \ufeffjob is not registered.", 0, 4, ""},
		"two names":         {"job,nope,agnt", "nope", "Byte 9: agnt is not registered. Did you mean agent?", 4, 8, "job,nope,agent"},
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
			v.expectComplaints("network: ")
			before := v.Controller.State().Generation
			v.clear("spec")
			require.NoError(t, v.tab.Insert(c.spec))
			v.fill("spec", "\r")
			v.waitForText("#spec-fault", c.hint)
			v.waitForText("#spec-fault", "Nothing was changed.")
			assert.Equal(t, c.mark, value[string](v, "document.querySelector('#spec-fault mark').textContent"))
			assert.Equal(t, c.spec, value[string](v, "document.querySelector('#spec-fault pre').textContent"))
			assert.Equal(t, []int{c.start, c.end}, value[[]int](v, "[document.activeElement.selectionStart, document.activeElement.selectionEnd]"))
			assert.Equal(t, "true", value[string](v, "document.getElementById('spec').ariaInvalid"))
			assert.Equal(t, before, v.Controller.State().Generation)
			assert.Equal(t, spangate.BitJob, v.Gym.Load())

			if c.corrected == "" {
				return
			}
			v.click(value[string](v, "document.querySelector('#spec-fault button').innerText"))
			v.waitFor("document.getElementById('spec-fault').hidden && document.activeElement.id === 'spec'")
			assert.Equal(t, c.corrected, value[string](v, "document.getElementById('spec').value"))
		})
	}
}

func TestPendingNameIsKeptIfAllowed(t *testing.T) {
	v := open(t, anyone)
	v.fill("spec", "job,layer")
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#allow-pending"))))
	v.fill("spec", "\r")
	v.waitForText("#pending", "Asked for and not registered: layer")
	assert.Equal(t, []string{"layer"}, v.Controller.State().Pending)
}

func TestTypedSpecSurvivesAChangeOfTheBaseline(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.fill("spec", ",verify")
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job,agent", Who: "grace"}))
	v.waitForText("#spec-now", "job,agent")
	v.waitForText("#spec-news", "Meanwhile the baseline is job,agent, by grace.")
	assert.Equal(t, "job,verify", value[string](v, "document.getElementById('spec').value"))

	v.click("Take that")
	v.waitFor("document.getElementById('spec').value === 'job,agent' && document.getElementById('spec-news').hidden")
	v.fill("spec", ",step\r")
	v.waitUntil(func() bool { return v.Gym.Load() == spangate.BitJob|spangate.BitAgent|spangate.BitStep }, "the gate stays")
}

func TestUneditedFieldFollowsTheBaseline(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "agent"}))
	v.waitFor("document.getElementById('spec').value === 'agent'")
}

// When Set is pressed, the page has not fetched the change of the baseline yet.
func TestSetOverAnUnseenBaselineIsRefused(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.expectComplaints("network: ")
	v.hide()
	v.fill("spec", ",verify")
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job,agent", Who: "grace"}))
	v.fill("spec", "\r")
	v.waitForText("#spec-news", "Meanwhile the baseline is job,agent, by grace.")
	assert.Equal(t, "job,agent", v.Controller.State().Baseline.Spec)

	v.click("Set")
	v.waitUntil(func() bool { return v.Controller.State().Baseline.Spec == "job,verify" }, "the baseline stays")
	v.waitFor("document.getElementById('spec-news').hidden && document.getElementById('refused').hidden")
}

func TestSetOverAnUnseenLeaseSucceeds(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.expectComplaints("network: ")
	v.hide()
	_, err := v.Lease("grace", "agent", "", time.Hour)
	require.NoError(t, err)
	v.fill("spec", ",verify\r")
	v.waitUntil(func() bool { return v.Controller.State().Baseline.Spec == "job,verify" }, "the baseline stays")
}
