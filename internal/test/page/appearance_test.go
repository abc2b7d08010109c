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

// long is a catalog with names of the greatest length.
var long = spangate.MustCatalog(strings.Repeat("n", spangate.MaxNameLen),
	[]spangate.Group{{Name: strings.Repeat("g", spangate.MaxNameLen), Bit: 1, Doc: strings.Repeat("d", 300)}},
	[]spangate.Preset{{Name: strings.Repeat("p", spangate.MaxNameLen), Mask: 1, Doc: strings.Repeat("d", 300)}})

func TestPhoneHasNoHorizontalScrolling(t *testing.T) {
	v := prepare(t, []control.HandlerOption{control.Authorize(control.BearerToken("x"))})
	v.expectComplaints("network: ")
	require.NoError(t, v.Registry.Register(long, new(spangate.Gate)))
	_, err := v.Lease(strings.Repeat("o", control.MaxOwnerLen), strings.Repeat("g", spangate.MaxNameLen), strings.Repeat("w", control.MaxWhyLen), 23*time.Hour)
	require.NoError(t, err)
	require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: strings.Repeat(strings.Repeat("s", spangate.MaxNameLen)+",", 8), AllowPending: true}))
	require.NoError(t, v.tab.Size(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch))
	v.reload()
	v.checkFit(360)
	v.click("Lease agent for 5 minutes")
	v.waitForText("#refused", "authoriser refuses")
	v.checkFit(360)

	// Buttons are large enough for a finger.
	small := value[[]string](v, "[...document.querySelectorAll('button')].filter((b) => b.checkVisibility() && b.getBoundingClientRect().height < 40).map((b) => b.innerText)")
	assert.Empty(t, small)
}

// checkFit checks that no element reaches beyond the window or overlaps another.
func (v *visit) checkFit(width int) {
	v.t.Helper()
	assert.Equal(v.t, width, value[int](v, "innerWidth"))
	assert.LessOrEqual(v.t, value[int](v, "document.documentElement.scrollWidth"), width)
	out := value[[]string](v, "[...document.body.querySelectorAll('*')].filter((e) => e.checkVisibility() && !e.matches('.unseen') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))")
	assert.Empty(v.t, out)
	assert.Empty(v.t, value[[]string](v, `[...document.querySelectorAll('main, section, .row, .do, form, [role="toolbar"]')].flatMap((parent) => {
		const boxes = [...parent.children].filter((e) => e.checkVisibility() && !e.matches('.unseen')).map((e) => [e, e.getBoundingClientRect()]);
		return boxes.filter(([, a], i) => boxes.slice(i + 1).some(([, b]) => a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1))
			.map(([e]) => e.outerHTML.slice(0, 80));
	})`), "elements overlap")
}

func TestContrastInLightAndDark(t *testing.T) {
	v := open(t, []control.HandlerOption{control.Authorize(control.BearerToken("x"))}, control.StartupBaseline(control.Baseline{Spec: "job,layer"}), control.Deny("agent"))
	v.expectComplaints("network: ")
	_, err := v.Lease("grace", "sandbox", "", time.Hour)
	require.NoError(t, err)
	v.clear("spec")
	v.fill("spec", "sandbx\r")
	v.waitForText("#refused", "authoriser refuses")
	v.waitForState("groups", "sandbox", "on") // the last change: no animation starts after it
	value[bool](v, "[...document.querySelectorAll('details')].every((e) => e.open = true)")
	backgrounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		require.NoError(t, v.tab.Prefer("prefers-color-scheme", scheme))
		v.waitFor("matchMedia('(prefers-color-scheme: " + scheme + ")').matches && document.getAnimations().length === 0")
		backgrounds[scheme] = value[string](v, "getComputedStyle(document.body).backgroundColor")
		assert.Empty(t, value[[]string](v, lowContrast), scheme)
	}
	assert.NotEqual(t, backgrounds["light"], backgrounds["dark"])
}

// lowContrast lists the texts whose contrast to the background is less than WCAG's 4.5 to 1.
const lowContrast = `(() => {
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

func TestPrefersReducedMotion(t *testing.T) {
	v := open(t, anyone)
	for _, c := range []struct{ preference, animation string }{{"no-preference", "changed"}, {"reduce", "none"}} {
		require.NoError(t, v.tab.Prefer("prefers-reduced-motion", c.preference))
		l, err := v.Lease("grace", "agent", "", time.Hour)
		require.NoError(t, err)
		v.waitForState("groups", "agent", "on")
		v.waitFor("getComputedStyle(document.querySelector('#groups .changed')).animationName === '" + c.animation + "'")
		require.NoError(t, l.Release())
		v.waitForState("groups", "agent", "off")
	}
}

func TestPageWithoutScriptHasTheSameText(t *testing.T) {
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

	// The script shows buttons and the host, and writes times in the reader's zone.
	const text = `(() => {
		const page = document.body.cloneNode(true);
		page.querySelectorAll('noscript, .at, button, form, time, #you, .unseen').forEach((e) => e.remove());
		return page.textContent.replace(/\d:\d\d:\d\d/g, 'TIME').replace(/\s+/g, ' ').replace(/ ?· /g, ' · ');
	})()`
	v.reload()
	withScript := value[string](v, text)
	require.NoError(t, v.tab.WithoutScripts())
	require.NoError(t, v.tab.Do(chromedp.Navigate(v.URL)))
	withoutScript := value[string](v, text)
	assert.Equal(t, squeeze(withoutScript), squeeze(withScript))
	v.waitForText("noscript", "needs JavaScript")
	assert.Equal(t, []string{"owner", "why", "add", "quiet", "ttl", "lease"},
		value[[]string](v, "[...document.querySelectorAll('button, input')].filter((e) => e.checkVisibility()).map((e) => e.id)"))
}

// squeeze removes all space: where the source breaks lines does not matter.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
