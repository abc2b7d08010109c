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
	v.shows("#readonly", "Nothing can be changed here.")
	v.shows("#readonly", "control.Authorize(control.BearerToken(token))")
	assert.Zero(t, value[int](v, "[...document.querySelectorAll('button, input')].filter((e) => e.checkVisibility()).length"))
}

func TestWhoeverIsRefusedIsToldAndAskedForTheToken(t *testing.T) {
	const token = "s3cret&?#/"
	v := open(t, []control.HandlerOption{control.Authorize(control.BearerToken(token))})
	v.expects("network: ")
	v.fill("owner", "ada")
	v.click("Lease sandbox for 1 minute")
	v.shows("#refused", "Nothing was changed: the authoriser refuses: send the header Authorization: Bearer")
	v.sees("document.activeElement.id === 'token'")
	assert.False(t, v.Gym.On(spangate.BitSandbox))

	v.fill("token", "wrong\r")
	v.sees("!document.querySelector('[aria-busy]')")
	v.shows("#refused", "the authoriser refuses")
	assert.False(t, v.Gym.On(spangate.BitSandbox))

	v.clear("token")
	require.NoError(t, v.tab.Insert("geheimnisvoll schön"))
	v.fill("token", "\r")
	v.shows("#refused", "The token has a character that no header can carry.")

	v.clear("token")
	require.NoError(t, v.tab.Insert(" "+token+" "))
	v.click("Try again")
	v.is(func() bool { return v.Gym.On(spangate.BitSandbox) }, "the token does not do")
	v.showsState("groups", "sandbox", "on")
	v.sees("document.getElementById('refused').hidden && document.activeElement.ariaLabel === 'Lease sandbox for 1 minute'")

	// Whoever types it, keeps it: no address has it, and nothing is stored.
	assert.Equal(t, "password", value[string](v, "document.getElementById('token').type"))
	assert.Equal(t, 0, value[int](v, "localStorage.length + sessionStorage.length + document.cookie.length"))
	for _, request := range v.tab.Requests() {
		assert.NotContains(t, request, "cret")
	}
	assert.Equal(t, v.URL, value[string](v, "location.href"))
	v.reload()
	assert.Empty(t, value[string](v, "document.getElementById('token').value"))
}

func TestNameThatTheAuthoriserGivesWillDo(t *testing.T) {
	v := open(t, []control.HandlerOption{control.Authorize(func(*http.Request) (string, error) { return "ada@login", nil })})
	v.click("Lease sandbox for 1 minute")
	v.shows("#leases", "ada@login")
}

func TestClosedControllerSaysSo(t *testing.T) {
	v := open(t, anyone)
	v.expects("network: ")
	v.fill("owner", "ada")
	require.NoError(t, v.Controller.Close())
	v.click("Lease sandbox for 1 minute")
	v.shows("#refused", "closed")
	v.click("Dismiss")
	v.sees("document.getElementById('refused').hidden")
}
