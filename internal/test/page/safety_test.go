// SPDX-License-Identifier: Apache-2.0

package test

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

// hostile are owners and reasons that anyone may give. No spec can hold them.
var hostile = []string{
	`<img src=x onerror=globalThis.pwned=1>`,
	`<script>globalThis.pwned=1</script>`,
	`"><svg onload=globalThis.pwned=1>`,
	`</title></style></textarea><iframe srcdoc="<script>parent.pwned=1</script>">`,
	`{{.Token}}${globalThis.pwned=1}`,
	`javascript:globalThis.pwned=1`,
	"ימין לשמאל right to left",
	`<a href=//elsewhere.example>&amp;&lt;`,
}

// addHostileText puts the hostile texts wherever a program shows text.
func addHostileText(t *testing.T, v *visit) {
	t.Helper()
	bad := spangate.MustCatalog("hostile",
		[]spangate.Group{{Name: "bad", Bit: 1, Doc: hostile[1]}},
		[]spangate.Preset{{Name: "worse", Mask: 1, Doc: hostile[2]}})
	require.NoError(t, v.Registry.Register(bad, new(spangate.Gate)))
	require.NoError(t, v.Controller.SetLimits(control.Limits{Deny: "job", Who: hostile[2], Why: hostile[3]}))
	for i, text := range hostile {
		other := hostile[(i+1)%len(hostile)]
		_, err := v.Controller.Lease(control.LeaseRequest{
			Owner: text, Why: other, Spec: "agent", Quiet: "bad", TTL: time.Hour})
		require.NoError(t, err)
		require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "bad", Who: text, Why: other}))
	}
}

func TestHostileTextIsNeverMarkup(t *testing.T) {
	v := prepare(t, anyone)
	addHostileText(t, v)
	v.reload()
	for _, text := range hostile {
		v.waitFor("document.querySelector('#leases').textContent.includes(" + quoted(text) + ")")
		v.waitFor("document.querySelector('#changes').textContent.includes(" + quoted(text) + ")")
	}
	v.waitForText("#groups", hostile[1])
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#presets-title"))))
	v.waitForText("#presets", hostile[2])
	v.waitFor("[...document.querySelectorAll('button')].some((b) => b.ariaLabel?.includes('<svg onload'))")
	v.hide() // waits until no request is left
	assert.Equal(t, 0, value[int](v, "document.querySelectorAll('img, svg, iframe, body script, body style, a:not(#skip), textarea').length"))
	assert.True(t, value[bool](v, "globalThis.pwned === undefined"))
}

func TestHostileTextIsNeverMarkupWithoutScript(t *testing.T) {
	v := prepare(t, anyone)
	addHostileText(t, v)
	require.NoError(t, v.tab.WithoutScripts())
	require.NoError(t, v.tab.Do(chromedp.Navigate(v.URL)))
	for _, text := range hostile {
		v.waitFor("document.body.textContent.includes(" + quoted(text) + ")")
	}
	assert.Equal(t, 0, value[int](v, "document.querySelectorAll('img, svg, iframe, body script, body style, a:not(#skip), textarea').length"))
}

func TestHostileTextInAnErrorIsNeverMarkup(t *testing.T) {
	v := open(t, anyone)
	v.expectComplaints("network: ")
	v.clear("spec")
	require.NoError(t, v.tab.Insert(hostile[0]))
	v.fill("spec", "\r")
	v.waitForText("#spec-fault", hostile[0])
	assert.Equal(t, 0, value[int](v, "document.querySelectorAll('img').length"))
}

// prepare fails the other tests if the browser reports a violation of the policy.
func TestPolicyBlocksForeignContent(t *testing.T) {
	for name, attempt := range map[string]string{
		"inline script": `const s = document.createElement('script'); s.textContent = 'globalThis.pwned = 1'; document.body.append(s)`,
		"inline style":  `document.body.insertAdjacentHTML('beforeend', '<p style="color: red">')`,
		"inline event":  `document.body.insertAdjacentHTML('beforeend', '<b onclick="globalThis.pwned = 1">'); document.body.lastChild.click()`,
		"eval":          `setTimeout(() => { try { (0, eval)('globalThis.pwned = 1') } catch {} })`,
		"other host":    `fetch('http://elsewhere.invalid/').catch(() => {})`,
		"base":          `const b = document.createElement('base'); b.href = 'http://elsewhere.invalid/'; document.head.append(b); globalThis.pwned = document.baseURI.includes('elsewhere') || undefined`,
		"form":          `const f = document.createElement('form'); f.action = 'http://elsewhere.invalid/'; document.body.append(f); f.submit()`,
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, anyone)
			value[bool](v, `document.addEventListener('securitypolicyviolation', (e) => { globalThis.violated = e.effectiveDirective }) ?? true`)
			value[bool](v, "(() => { "+attempt+"; return true })()")
			v.waitFor("globalThis.violated")
			assert.True(t, value[bool](v, "globalThis.pwned === undefined"))
			v.expectComplaints("security: ", "violation: ", "network: ", "javascript: ")
		})
	}
}

func TestAnswersHaveThePolicy(t *testing.T) {
	v := prepare(t, anyone)
	v.reload()
	for _, path := range []string{"", "page/page.js", "page/page.css", "page/icon.svg", "page/nothing"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.URL+path, nil)
		require.NoError(t, err)
		request.Header.Set("Accept", "text/html")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		policy := answer.Header.Get("Content-Security-Policy")
		for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"} {
			assert.Contains(t, policy, directive, path)
		}
		assert.NotContains(t, policy, "unsafe", path)
		assert.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"), path)
		assert.NotContains(t, answer.Header.Get("Content-Type"), "text/plain", path)
	}
}
