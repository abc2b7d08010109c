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
	v.is(func() bool { return v.Gym.Load() == spangate.CrossProcessSpine|spangate.BitVerify }, "the gate stays")
	v.shows("#spec-now", "default,verify,-job")
	v.shows("#spec-who", "ada: slow verifier")

	v.click("Back to start-up")
	v.is(func() bool { return v.Gym.Load() == spangate.PresetDefault }, "the gate stays")
	v.sees("document.getElementById('spec').value === 'default'")
	v.shows("#spec-who", "flag")
}

func TestBadSpecIsPointedAtAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spec, mark, hint string
		start, end       int // of the selection, in UTF-16 code units
		mended           string
	}{
		"a slip":             {"default,sandbx", "sandbx", "Byte 8: sandbx is not registered. Did you mean sandbox?", 8, 14, "default,sandbox"},
		"an exclusion":       {"all, -verfy ,job", "verfy", "Byte 6: verfy is not registered. Did you mean verify?", 6, 11, "all, -verify ,job"},
		"behind wide runes":  {"\u00a0\u3000default,sandbx", "sandbx", "Byte 13: sandbx is not registered. Did you mean sandbox?", 10, 16, "\u00a0\u3000default,sandbox"},
		"beyond one plane":   {"🦊", "🦊", "Byte 0: 🦊 is not registered.", 0, 2, ""},
		"a byte order mark":  {"\ufeffjob", "\ufeffjob", "Byte 0: \ufeffjob is not registered.", 0, 4, ""},
		"two, one forgotten": {"job,nope,agnt", "nope", "Byte 9: agnt is not registered. Did you mean agent?", 4, 8, "job,nope,agent"},
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
			v.expects("network: ")
			before := v.Controller.State().Generation
			v.clear("spec")
			require.NoError(t, v.tab.Insert(c.spec))
			v.fill("spec", "\r")
			v.shows("#spec-fault", c.hint)
			v.shows("#spec-fault", "Nothing was changed.")
			assert.Equal(t, c.mark, value[string](v, "document.querySelector('#spec-fault mark').textContent"))
			assert.Equal(t, c.spec, value[string](v, "document.querySelector('#spec-fault pre').textContent"))
			assert.Equal(t, []int{c.start, c.end}, value[[]int](v, "[document.activeElement.selectionStart, document.activeElement.selectionEnd]"))
			assert.Equal(t, "true", value[string](v, "document.getElementById('spec').ariaInvalid"))
			assert.Equal(t, before, v.Controller.State().Generation)
			assert.Equal(t, spangate.BitJob, v.Gym.Load())

			if c.mended == "" {
				return
			}
			v.click(value[string](v, "document.querySelector('#spec-fault button').innerText"))
			v.sees("document.getElementById('spec-fault').hidden && document.activeElement.id === 'spec'")
			assert.Equal(t, c.mended, value[string](v, "document.getElementById('spec').value"))
		})
	}
}

func TestPendingNameIsKeptIfAllowed(t *testing.T) {
	v := open(t, anyone)
	v.fill("spec", "job,layer")
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#allow-pending"))))
	v.fill("spec", "\r")
	v.shows("#pending", "Asked for and not registered: layer")
	assert.Equal(t, []string{"layer"}, v.Controller.State().Pending)
}

func TestChangeElsewhereLeavesAloneWhatIsBeingTyped(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.fill("spec", ",verify")
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job,agent", Who: "grace"}))
	v.shows("#spec-now", "job,agent")
	v.shows("#spec-news", "Meanwhile the baseline is job,agent, by grace.")
	assert.Equal(t, "job,verify", value[string](v, "document.getElementById('spec').value"))

	v.click("Take that")
	v.sees("document.getElementById('spec').value === 'job,agent' && document.getElementById('spec-news').hidden")
	v.fill("spec", ",step\r")
	v.is(func() bool { return v.Gym.Load() == spangate.BitJob|spangate.BitAgent|spangate.BitStep }, "the gate stays")
}

func TestFieldThatNobodyTouchedFollowsTheBaseline(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "agent"}))
	v.sees("document.getElementById('spec').value === 'agent'")
}

// The page has not seen yet what has changed when Set is pressed.
func TestSetOverAnUnseenBaselineIsHeldBack(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.expects("network: ")
	v.hide()
	v.fill("spec", ",verify")
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job,agent", Who: "grace"}))
	v.fill("spec", "\r")
	v.shows("#spec-news", "Meanwhile the baseline is job,agent, by grace.")
	assert.Equal(t, "job,agent", v.Controller.State().Baseline.Spec)

	v.click("Set")
	v.is(func() bool { return v.Controller.State().Baseline.Spec == "job,verify" }, "it was seen and meant")
	v.sees("document.getElementById('spec-news').hidden && document.getElementById('refused').hidden")
}

func TestUnseenLeaseIsInNobodysWay(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}))
	v.expects("network: ")
	v.hide()
	_, err := v.Lease("grace", "agent", "", time.Hour)
	require.NoError(t, err)
	v.fill("spec", ",verify\r")
	v.is(func() bool { return v.Controller.State().Baseline.Spec == "job,verify" }, "the baseline stays")
}
