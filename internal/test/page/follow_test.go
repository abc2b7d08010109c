// SPDX-License-Identifier: Apache-2.0

package test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
)

// hide makes the page think that its tab is in the background; it asks nothing there.
func (v *visit) hide() {
	v.t.Helper()
	value[bool](v, "Object.defineProperty(document, 'hidden', { value: true, configurable: true }) && document.dispatchEvent(new Event('visibilitychange'))")
	// It asks nothing for longer than it ever pauses; one question may have been on its way.
	before := len(v.tab.Requests())
	time.Sleep(2500 * time.Millisecond)
	assert.LessOrEqual(v.t, len(v.tab.Requests()), before+1, "the page goes on asking")
}

// unhide brings the tab back to the front.
func (v *visit) unhide() {
	v.t.Helper()
	value[bool](v, "delete document.hidden && document.dispatchEvent(new Event('visibilitychange'))")
}

func TestChangeElsewhereAppears(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "agent,layer", "elsewhere", time.Hour)
	require.Error(t, err)
	_, err = v.Lease("grace", "agent", "elsewhere", time.Hour)
	require.NoError(t, err)
	v.showsState("groups", "agent", "on")
	v.shows("#changes", "grace: lease")

	require.NoError(t, v.Registry.Unregister("mydb"))
	v.sees("![...document.querySelectorAll('#groups .namespace')].some((e) => e.innerText === 'mydb')")
}

func TestNothingIsSentWhileNothingChanges(t *testing.T) {
	v := open(t, anyone)
	v.is(func() bool { return v.tab.Answers(304) >= 2 }, "the page does not ask with the tag that it was given")
	assert.Equal(t, v.files(), v.tab.Answers(200), "the page that was opened, and no more")
}

// files is how many answers were not states: the page and what it loads.
func (v *visit) files() int {
	n := 1
	for _, request := range v.tab.Requests() {
		if strings.Contains(request, "/page/") {
			n++
		}
	}
	return n
}

func TestHiddenTabAsksNothing(t *testing.T) {
	v := open(t, anyone)
	v.hide()
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job"}))
	v.unhide()
	v.showsState("groups", "job", "on")
}

func TestProgramThatGoesAwayAndComesBack(t *testing.T) {
	v := open(t, anyone)
	v.expects("network: ")
	v.fill("owner", "ada")
	v.fill("spec", "verify")
	require.NoError(t, v.Away())
	v.shows("#lost", "The program does not answer. What is below is how it was at ")
	v.click("Lease agent for 1 minute")
	v.shows("#refused", "The program does not answer.")

	require.NoError(t, v.Serve())
	v.sees("document.getElementById('lost').hidden && document.getElementById('connection').textContent !== ''")
	assert.Equal(t, "verify", value[string](v, "document.getElementById('spec').value"))
	v.click("Try again")
	v.showsState("groups", "agent", "on")
}

// A login page that a proxy puts in front is no success, whatever its status.
func TestPageOfAProxyIsNoAnswer(t *testing.T) {
	for _, answer := range []string{"<html>Log in", `<main id="main" data-tag="x">`, "", "null", "1", "[]", `{"groups": 1}`} {
		t.Run(answer, func(t *testing.T) {
			v := open(t, anyone)
			v.Replace(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
			v.shows("#lost", "What answers is not the endpoint.")
			if strings.HasPrefix(answer, "<") {
				v.click("Lease agent for 1 minute")
				v.shows("#refused", "What answers is not the endpoint.")
			}
		})
	}
}
