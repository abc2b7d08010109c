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

// spanOf reports whether a span of sandbox starts for a request of this customer.
func (v *visit) spanOf(customer string) bool {
	return v.Gym.OnContext(v.Controller.Offer(v.t.Context(), func(field string) string {
		return map[string]string{"customer": customer}[field]
	}), spangate.BitSandbox)
}

func TestFormLeasesADetailAndThePageShowsWhoGetsIt(t *testing.T) {
	v := prepare(t, anyone, control.StartupBaseline(control.Baseline{Spec: "job"}), control.OverrideBudget(control.Budget{Traces: 1}))
	require.NoError(t, v.tab.Size(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch))
	v.reload()
	assert.False(t, value[bool](v, "document.querySelector('#overrides-section').checkVisibility()"))
	v.fill("owner", "ada")
	v.fill("add", "sandbox,job")
	v.fill("match", "customer=42\r")
	v.waitForText("#leases", "sandbox,job for traces with customer=42")
	v.waitForText("#now-traces", "detail of ada for traces with customer=42")
	assert.Regexp(t, `^detail\s+sandbox (9:5\d|10:00)$`, value[string](v, "document.querySelector('#now-traces .name').innerText"))
	v.checkFit(360)
	for _, selector := range []string{"#now-traces", "#leases li"} {
		value[bool](v, "scrollTo(0, 0) ?? true")
		assert.LessOrEqual(t, value[float64](v, "document.querySelector("+quoted(selector)+").getBoundingClientRect().bottom"), 740.0, selector)
	}
	v.waitForState("groups", "sandbox", "off")
	v.waitForText("#group-sandbox .because", "detail of ada, ")
	v.waitForText("#group-job .because", "baseline · detail of ada, ")
	v.waitForText("#summary", "1 of 17 groups on · 1 lease")
	assert.Empty(t, value[string](v, "document.getElementById('match').value"), "the next lease is for all traces again")

	require.True(t, v.spanOf("42"))
	require.False(t, v.spanOf("43"))
	require.False(t, v.spanOf("42"), "beyond the budget")
	v.waitForText("#overrides-fold summary", "1 live · 1 span started")
	v.waitForText("#overrides-cut", "Cut by the limits: traces 1.")
	assert.False(t, value[bool](v, "document.querySelector('#overrides-fold p').checkVisibility()"), "the rest is folded")
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#overrides-title"))))
	v.waitForText("#overrides-fold", "1 chosen here by details, 0 received")

	l := v.Controller.State().Leases[0]
	_, err := v.Controller.Lease(control.LeaseRequest{Owner: "grace", Revoke: l.ID, TTL: time.Minute})
	require.NoError(t, err)
	v.waitForText("#leases", "revoke "+l.ID)
	v.click("Release revoke " + l.ID + " of grace")
	v.click("Release sandbox,job for traces with customer=42 of ada")
	v.waitForText("#leases-none", "None.")
	v.waitFor("!document.getElementById('now-traces')")
}

func TestFieldOfADetailThatIsRefusedHasTheFocus(t *testing.T) {
	v := open(t, anyone)
	v.expectComplaints("network: ")
	v.fill("owner", "ada")
	v.fill("add", "sandbox")
	v.fill("share", "200%\r")
	v.waitForText("#refused", "is no share of traces")
	v.waitFor("document.activeElement.id === 'share' && document.activeElement.ariaInvalid === 'true'")
	v.clear("share")
	v.fill("share", "1/1000")
	v.fill("match", "customer=42")
	v.click("Try again")
	v.waitForText("#refused", "it excludes match; request two leases")
	v.clear("match")
	v.click("Try again")
	v.waitForText("#leases", "sandbox for 0.1% of traces")
	assert.InDelta(t, .001, v.Controller.State().Leases[0].Share, 1e-12)
}
