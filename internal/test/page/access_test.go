// SPDX-License-Identifier: Apache-2.0

package test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

func TestPageWithoutAuthoriserOffersNoChangeAndSaysWhatToConfigure(t *testing.T) {
	v := open(t, nil)
	v.waitForText("#readonly", "Nothing can be changed here.")
	v.waitForText("#readonly", "setup.Token(token)")
	v.waitForText("#readonly", "control.Authorize(control.BearerToken(token))")
	assert.Zero(t, value[int](v, "[...document.querySelectorAll('button, input:not(#filters input)')].filter((e) => e.checkVisibility()).length"))
}

func TestRefusedChangeAsksForTheToken(t *testing.T) {
	const token = "s3cret&?#/"
	v := open(t, []control.HandlerOption{control.Authorize(control.BearerToken(token))})
	v.expectComplaints("network: ")
	v.fill("owner", "ada")
	v.click("Lease sandbox for 1 minute")
	v.waitForText("#refused", "Nothing was changed: the authoriser refuses: send the header Authorization: Bearer")
	v.waitFor("document.activeElement.id === 'token'")
	assert.False(t, v.Gym.On(spangate.BitSandbox))

	v.fill("token", "wrong\r")
	v.waitFor("!document.querySelector('[aria-busy]')")
	v.waitForText("#refused", "the authoriser refuses")
	assert.False(t, v.Gym.On(spangate.BitSandbox))

	v.clear("token")
	require.NoError(t, v.tab.Insert("geheimnisvoll schön"))
	v.fill("token", "\r")
	v.waitForText("#refused", "The token has a character that no header can carry.")

	v.clear("token")
	require.NoError(t, v.tab.Insert(" "+token+" "))
	v.click("Try again")
	v.waitUntil(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the token is refused")
	v.waitForState("groups", "sandbox", "on")
	v.waitFor("document.getElementById('refused').hidden && document.activeElement.ariaLabel === 'Lease sandbox for 1 minute'")

	// The token stays in its field: no address has it, and the browser stores nothing.
	assert.Equal(t, "password", value[string](v, "document.getElementById('token').type"))
	assert.Equal(t, 0, value[int](v, "localStorage.length + sessionStorage.length + document.cookie.length"))
	for _, request := range v.tab.Requests() {
		assert.NotContains(t, request, "cret")
	}
	assert.Equal(t, v.URL, value[string](v, "location.href"))
	v.reload()
	assert.Empty(t, value[string](v, "document.getElementById('token').value"))
}

func TestOwnerCanBeTheNameThatTheAuthoriserReturns(t *testing.T) {
	v := open(t, []control.HandlerOption{control.Authorize(func(*http.Request) (string, error) { return "ada@login", nil })})
	v.click("Lease sandbox for 1 minute")
	v.waitForText("#leases", "ada@login")
}

func TestChangeToAClosedControllerIsRefused(t *testing.T) {
	v := open(t, anyone)
	v.expectComplaints("network: ")
	v.fill("owner", "ada")
	require.NoError(t, v.Controller.Close())
	v.click("Lease sandbox for 1 minute")
	v.waitForText("#refused", "closed")
	v.click("Dismiss")
	v.waitFor("document.getElementById('refused').hidden")
}
