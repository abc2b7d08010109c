// SPDX-License-Identifier: Apache-2.0

package test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
)

func TestPageWorksBelowAnyPrefix(t *testing.T) {
	for path, mount := range map[string]func(h http.Handler) http.Handler{
		"/":     func(h http.Handler) http.Handler { return h },
		"/?a=b": func(h http.Handler) http.Handler { return h },
		"/a b/c": func(h http.Handler) http.Handler { // without the slash
			return http.StripPrefix("/a b/c", h)
		},
		"/d/e/": func(h http.Handler) http.Handler {
			return http.StripPrefix("/d/e", h)
		},
	} {
		t.Run(path, func(t *testing.T) {
			v := prepare(t, anyone)
			server := httptest.NewServer(mount(control.Handler(v.Controller, anyone...)))
			t.Cleanup(server.Close)
			v.URL = server.URL + path
			v.reload()
			v.fill("owner", "ada")
			v.click("Lease sandbox for 1 minute")
			v.waitForState("groups", "sandbox", "on")
			v.click("Release sandbox of ada")
			v.waitForState("groups", "sandbox", "off")
			require.Empty(t, v.Controller.State().Leases)
		})
	}
}
