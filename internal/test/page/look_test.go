// SPDX-License-Identifier: Apache-2.0

package test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

// long fills a catalog with the longest names there can be.
var long = spangate.MustCatalog(strings.Repeat("n", spangate.MaxNameLen),
	[]spangate.Group{{Name: strings.Repeat("g", spangate.MaxNameLen), Bit: 1, Doc: strings.Repeat("d", 300)}},
	[]spangate.Preset{{Name: strings.Repeat("p", spangate.MaxNameLen), Mask: 1, Doc: strings.Repeat("d", 300)}})

func TestPhoneNeedsNoScrollingSideways(t *testing.T) {
	v := prepare(t, []control.HandlerOption{control.Authorize(control.BearerToken("x"))})
	v.expects("network: ")
	require.NoError(t, v.Registry.Register(long, new(spangate.Gate)))
	_, err := v.Lease(strings.Repeat("o", control.MaxOwnerLen), strings.Repeat("g", spangate.MaxNameLen), strings.Repeat("w", control.MaxWhyLen), 23*time.Hour)
	require.NoError(t, err)
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: strings.Repeat(strings.Repeat("s", spangate.MaxNameLen)+",", 8), AllowPending: true}))
	require.NoError(t, v.tab.Size(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch))
	v.reload()
	v.fits(360)
	v.click("Lease agent for 5 minutes")
	v.shows("#refused", "authoriser refuses")
	v.fits(360)

	// What is touched is large enough to be hit.
	small := value[[]string](v, "[...document.querySelectorAll('button')].filter((b) => b.checkVisibility() && b.getBoundingClientRect().height < 40).map((b) => b.innerText)")
	assert.Empty(t, small)
}

// fits checks that nothing is wider than the window, and nothing sticks out of it.
func (v *visit) fits(width int) {
	v.t.Helper()
	assert.Equal(v.t, width, value[int](v, "innerWidth"))
	assert.LessOrEqual(v.t, value[int](v, "document.documentElement.scrollWidth"), width)
	out := value[[]string](v, "[...document.body.querySelectorAll('*')].filter((e) => e.checkVisibility() && !e.matches('.unseen') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))")
	assert.Empty(v.t, out)
}

func TestEveryTextStandsOutInLightAndDark(t *testing.T) {
	v := open(t, []control.HandlerOption{control.Authorize(control.BearerToken("x"))}, control.StartupBaseline(control.Baseline{Spec: "job,layer"}), control.Deny("agent"))
	v.expects("network: ")
	_, err := v.Lease("grace", "sandbox", "", time.Hour)
	require.NoError(t, err)
	v.clear("spec")
	v.fill("spec", "sandbx\r")
	v.shows("#refused", "authoriser refuses")
	v.showsState("groups", "sandbox", "on") // the last change, so no row is tinted from here on but for a moment
	papers := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		require.NoError(t, v.tab.Prefer("prefers-color-scheme", scheme))
		v.sees("matchMedia('(prefers-color-scheme: " + scheme + ")').matches && document.getAnimations().length === 0")
		papers[scheme] = value[string](v, "getComputedStyle(document.body).backgroundColor")
		assert.Empty(t, value[[]string](v, faint), scheme)
	}
	assert.NotEqual(t, papers["light"], papers["dark"])
}

// faint lists the texts whose contrast to what is behind them is less than WCAG's 4.5 to 1.
const faint = `(() => {
	const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const colour = channels(getComputedStyle(e).backgroundColor);
			if (colour[3] !== 0) return colour;
		}
	};
	return [...document.body.querySelectorAll('*')]
		.filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== '') || e.matches('input'))
		.map((e) => {
			const [a, b] = [light(channels(getComputedStyle(e).color)), light(behind(e))].sort((a, b) => b - a);
			return [(a + .05) / (b + .05), e.outerHTML.slice(0, 80)];
		})
		.filter(([ratio]) => ratio < 4.5)
		.map(([ratio, what]) => ratio.toFixed(2) + ' ' + what);
})()`

func TestNothingMovesForWhoPrefersThatNothingMoves(t *testing.T) {
	v := open(t, anyone)
	for _, c := range []struct{ preference, animation string }{{"no-preference", "changed"}, {"reduce", "none"}} {
		require.NoError(t, v.tab.Prefer("prefers-reduced-motion", c.preference))
		l, err := v.Lease("grace", "agent", "", time.Hour)
		require.NoError(t, err)
		v.showsState("groups", "agent", "on")
		v.sees("getComputedStyle(document.querySelector('#groups .changed')).animationName === '" + c.animation + "'")
		require.NoError(t, l.Release())
		v.showsState("groups", "agent", "off")
	}
}

func TestWithoutScriptsThePageSaysTheSame(t *testing.T) {
	v := prepare(t, anyone,
		control.StartupBaseline(control.Baseline{Spec: "default,layer", Who: "environment", Why: "SPANS"}), control.Deny("pool"), control.Ceiling("all"))
	for _, l := range []struct{ owner, spec, why string }{{"ada", "sandbox,pool", "node 7"}, {"grace", "per_rollout", ""}} {
		_, err := v.Lease(l.owner, l.spec, l.why, 5*time.Hour)
		require.NoError(t, err)
	}
	for _, req := range []control.LeaseRequest{{Quiet: "job"}, {Quiet: "all,-job", Spec: "verify"}} {
		req.Owner, req.TTL = "ada", 5*time.Hour
		_, err := v.Controller.Lease(req)
		require.NoError(t, err)
	}
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "layer,job", AllowPending: true, Who: "ada"}))
	require.NoError(t, v.Registry.Register(long, new(spangate.Gate)))

	// What the script adds: the buttons, and the reader's own time of day.
	const said = `(() => {
		const page = document.body.cloneNode(true);
		page.querySelectorAll('noscript, .at, button, form, time, #you, .unseen').forEach((e) => e.remove());
		return page.textContent.replace(/\d:\d\d:\d\d/g, 'TIME').replace(/\s+/g, ' ').replace(/ ?· /g, ' · ');
	})()`
	v.reload()
	with := value[string](v, said)
	require.NoError(t, v.tab.WithoutScripts())
	require.NoError(t, v.tab.Do(chromedp.Navigate(v.URL)))
	without := value[string](v, said)
	assert.Equal(t, words(without), words(with))
	v.shows("noscript", "needs JavaScript")
	assert.Zero(t, value[int](v, "[...document.querySelectorAll('button, input')].filter((e) => e.checkVisibility()).length"))
}

// words leaves out the space that only stands in the source.
func words(s string) string { return strings.Join(strings.Fields(s), "") }
