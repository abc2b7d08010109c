// SPDX-License-Identifier: Apache-2.0

package test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/internal/test/page/program"
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

func TestProblemOfTheWatchedFileAppearsAndGoes(t *testing.T) {
	v := prepare(t, anyone)
	file := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, os.WriteFile(file, []byte("job\n"), 0o644))
	_, err := v.Controller.WatchFile(file, control.Interval(10*time.Millisecond))
	require.NoError(t, err)
	v.reload()
	assert.True(t, value[bool](v, "document.getElementById('file') === null"))
	require.NoError(t, os.WriteFile(file, []byte("a b\n"), 0o644))
	v.waitForText("#file", "The file "+file+" can’t be used, so the last baseline stays:")
	v.waitForText("#file", "a comma is missing between two names")
	v.waitForState("groups", "job", "on")
	require.NoError(t, os.WriteFile(file, []byte("job\n"), 0o644))
	v.waitFor("document.getElementById('file') === null")
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
	before := len(v.tab.Requests())
	value[bool](v, "dispatchEvent(new Event('online'))")
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "job"}))
	time.Sleep(100 * time.Millisecond)
	assert.Len(t, v.tab.Requests(), before)
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
	v.expectComplaints("network: ")
	_, err := v.Lease("grace", "agent", "", time.Hour)
	require.NoError(t, err)
	v.waitForText("#groups .because", "lease of grace")
	v.fill("token", "secret")
	v.fill("why", "node 7")
	v.fill("spec", ",sandbx\r")
	v.waitForText("#spec-fault", "sandbx is not registered.")
	const row = "document.getElementById('group-agent')"
	value[bool](v, "(globalThis.row = "+row+", scrollTo(0, 200), getSelection().selectAllChildren(row.querySelector('bdi')), true)")
	before := value[string](v, row+".querySelector('.because').innerText")
	v.waitFor(row + ".querySelector('.because').innerText !== " + quoted(before))
	assert.Equal(t, []string{"secret", "node 7", ",sandbx", "true", "agent", "200"}, value[[]string](v, `[
		...['token', 'why', 'spec'].map((id) => document.getElementById(id).value),
		document.getElementById('spec').ariaInvalid, String(getSelection()), String(scrollY)]`))
	v.waitForText("#spec-fault", "sandbx is not registered.")
	assert.True(t, value[bool](v, row+" === globalThis.row"), "the row was replaced")
}

func TestButtonIsBusyUntilTheAnswer(t *testing.T) {
	v := open(t, anyone)
	answer := make(chan struct{})
	var changes atomic.Int32
	v.SetHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			changes.Add(1)
			<-answer
		}
		http.StripPrefix(strings.TrimSuffix(program.Mount, "/"), control.Handler(v.Controller, anyone...)).ServeHTTP(w, r)
	}))
	v.fill("owner", "ada")
	v.click("Lease sandbox for 1 minute")
	_, err := v.Lease("grace", "sandbox", "", time.Hour)
	require.NoError(t, err)
	v.waitForState("groups", "sandbox", "on")
	assert.Equal(t, "Lease sandbox for 1 minute", value[string](v, "document.querySelector('[aria-busy]').ariaLabel"))
	v.click("Lease sandbox for 1 minute")
	close(answer)
	v.waitFor("!document.querySelector('[aria-busy]')")
	assert.EqualValues(t, 1, changes.Load())
}
