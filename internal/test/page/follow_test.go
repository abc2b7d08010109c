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

// hide puts the tab into the background, where it must send no request.
func (v *visit) hide() {
	v.t.Helper()
	value[bool](v, "Object.defineProperty(document, 'hidden', { value: true, configurable: true }) && document.dispatchEvent(new Event('visibilitychange'))")
	// This is longer than the interval between requests; one may have been in flight.
	before := len(v.tab.Requests())
	time.Sleep(2500 * time.Millisecond)
	assert.LessOrEqual(v.t, len(v.tab.Requests()), before+1, "the page goes on sending requests")
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
	v.waitForState("groups", "agent", "on")
	v.waitForText("#changes", "grace: lease")

	require.NoError(t, v.Registry.Unregister("mydb"))
	v.waitFor("![...document.querySelectorAll('#groups .namespace')].some((e) => e.innerText === 'mydb')")
}

func TestUnchangedPageIsNotSentAgain(t *testing.T) {
	v := open(t, anyone)
	v.waitUntil(func() bool { return v.tab.Answers(304) >= 2 }, "the page does not send the tag back")
	assert.Equal(t, v.files(), v.tab.Answers(200), "the page that was opened, and no more")
}

// files returns how many requests were for the page that was opened and for what it loads.
func (v *visit) files() int {
	n := 1
	for _, request := range v.tab.Requests() {
		if strings.Contains(request, "/page/") {
			n++
		}
	}
	return n
}

func TestHiddenTabSendsNoRequest(t *testing.T) {
	v := open(t, anyone)
	v.hide()
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job"}))
	v.unhide()
	v.waitForState("groups", "job", "on")
}

func TestPageResumesWhenTheProgramIsBack(t *testing.T) {
	v := open(t, anyone)
	v.expectComplaints("network: ")
	v.fill("owner", "ada")
	v.fill("spec", "verify")
	require.NoError(t, v.Stop())
	v.waitForText("#lost", "The program does not answer. What is below is how it was at ")
	v.click("Lease agent for 1 minute")
	v.waitForText("#refused", "The program does not answer.")

	require.NoError(t, v.Serve())
	v.waitFor("document.getElementById('lost').hidden && document.getElementById('connection').textContent !== ''")
	assert.Equal(t, "verify", value[string](v, "document.getElementById('spec').value"))
	v.click("Try again")
	v.waitForState("groups", "agent", "on")
}

// The status of a proxy's login page is 200.
func TestAnswerOfAProxyIsAnError(t *testing.T) {
	for _, answer := range []string{"<html>Log in", `<main id="main" data-tag="x">`, "", "null", "1", "[]", `{"groups": 1}`} {
		t.Run(answer, func(t *testing.T) {
			v := open(t, anyone)
			v.SetHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
			v.waitForText("#lost", "What answers is not the endpoint.")
			if strings.HasPrefix(answer, "<") {
				v.click("Lease agent for 1 minute")
				v.waitForText("#refused", "What answers is not the endpoint.")
			}
		})
	}
}

func TestRefreshKeepsWhatIsTypedSelectedAndScrolledTo(t *testing.T) {
	v := open(t, anyone)
	_, err := v.Lease("grace", "agent", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#groups .because", "lease of grace")
	v.fill("token", "secret")
	v.fill("why", "node 7")
	const row = "document.getElementById('group-agent')"
	value[bool](v, "(globalThis.row = "+row+", scrollTo(0, 200), getSelection().selectAllChildren(row.querySelector('bdi')), true)")
	before := value[string](v, row+".querySelector('.because').innerText")
	v.waitFor(row + ".querySelector('.because').innerText !== " + quoted(before))
	assert.Equal(t, []string{"secret", "node 7", "agent", "200"}, value[[]string](v, `[
		document.getElementById('token').value, document.getElementById('why').value, String(getSelection()), String(scrollY)]`))
	assert.True(t, value[bool](v, row+" === globalThis.row"), "the row was replaced")
}
