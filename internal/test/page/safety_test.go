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

// hostile is what people may call themselves and their reasons. No spec can hold it.
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

// enact makes a program speak in those words wherever it can.
func enact(t *testing.T, v *visit) {
	t.Helper()
	bad := spangate.MustCatalog("hostile",
		[]spangate.Group{{Name: "bad", Bit: 1, Doc: hostile[1]}},
		[]spangate.Preset{{Name: "worse", Mask: 1, Doc: hostile[2]}})
	require.NoError(t, v.Registry.Register(bad, new(spangate.Gate)))
	require.NoError(t, v.Controller.SetLimits(control.Limits{Deny: "job", Who: hostile[2], Why: hostile[3]}))
	for i, words := range hostile {
		other := hostile[(i+1)%len(hostile)]
		_, err := v.Controller.Lease(control.LeaseRequest{
			Owner: words, Why: other, Spec: "agent", Quiet: "bad", TTL: time.Hour})
		require.NoError(t, err)
		require.NoError(t, v.Controller.SetBaseline(control.Baseline{Spec: "bad", Who: words, Why: other}))
	}
}

func TestHostileWordsAreTextAndNothingElse(t *testing.T) {
	v := prepare(t, anyone)
	enact(t, v)
	v.reload()
	for _, words := range hostile {
		v.sees("document.querySelector('#leases').textContent.includes(" + quoted(words) + ")")
		v.sees("document.querySelector('#changes').textContent.includes(" + quoted(words) + ")")
	}
	v.shows("#groups", hostile[1])
	v.shows("#presets", hostile[2])
	v.sees("[...document.querySelectorAll('button')].some((b) => b.ariaLabel?.includes('<svg onload'))")
	v.hide() // when whatever is loaded late has been
	assert.Equal(t, 0, value[int](v, "document.querySelectorAll('img, svg, iframe, body script, body style, a, textarea').length"))
	assert.True(t, value[bool](v, "globalThis.pwned === undefined"))
}

func TestHostileWordsAreTextWithoutScriptsToo(t *testing.T) {
	v := prepare(t, anyone)
	enact(t, v)
	require.NoError(t, v.tab.WithoutScripts())
	require.NoError(t, v.tab.Do(chromedp.Navigate(v.URL)))
	for _, words := range hostile {
		v.sees("document.body.textContent.includes(" + quoted(words) + ")")
	}
	assert.Equal(t, 0, value[int](v, "document.querySelectorAll('img, svg, iframe, body script, body style, a, textarea').length"))
}

func TestHostileAnswerOfAnErrorIsText(t *testing.T) {
	v := open(t, anyone)
	v.expects("network: ")
	v.clear("spec")
	require.NoError(t, v.tab.Insert(hostile[0]))
	v.fill("spec", "\r")
	v.shows("#spec-fault", hostile[0])
	assert.Equal(t, 0, value[int](v, "document.querySelectorAll('img').length"))
}

// The guard is seen to bite: what the other tests rely on never happening.
func TestPolicyStopsWhatIsNotTheEndpoints(t *testing.T) {
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
			v.sees("globalThis.violated")
			assert.True(t, value[bool](v, "globalThis.pwned === undefined"))
			v.expects("security: ", "violation: ", "network: ", "javascript: ")
		})
	}
}

func TestAnswersSaySo(t *testing.T) {
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
