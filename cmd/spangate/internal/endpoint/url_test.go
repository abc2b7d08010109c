// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://localhost:8080/spans/":  "http://localhost:8080/spans/",
		"http://localhost:8080/spans":   "http://localhost:8080/spans/",
		"http://localhost:8080/spans//": "http://localhost:8080/spans/",
		"http://localhost:8080":         "http://localhost:8080/",
		"localhost:8080/spans":          "http://localhost:8080/spans/",
		"localhost":                     "http://localhost/",
		" localhost:8080\n":             "http://localhost:8080/",
		"[::1]:8080/a/b":                "http://[::1]:8080/a/b/",
		"https://[2001:db8::1]/a":       "https://[2001:db8::1]/a/",
		"http://[fe80::1%25eth0]:80/":   "http://[fe80::1%25eth0]:80/",
		"HTTPS://Host/a%2Fb":            "https://Host/a%2Fb/",
	} {
		u, err := endpoint.ParseURL(text)
		if assert.NoError(t, err, text) {
			assert.Equal(t, want, u.String(), text)
		}
	}
	for text, want := range map[string]string{
		"":                         "names no host",
		"http://":                  "names no host",
		"http://:8080/":            "names no host",
		"ftp://host/":              "not http or https",
		"http://ann:s3cret@host/":  "it has a user in it",
		"http://ann:s3cret@host:x": "invalid port",
		"http://host/?a=b":         "query or fragment",
		"http://host/#a":           "query or fragment",
		"http://ho st/":            "invalid character",
		"http://[::1/":             "missing ']'",
		"http://host/%zz":          "invalid URL escape",
		"http://host/\x00":         "invalid control character",
	} {
		_, err := endpoint.ParseURL(text)
		if assert.ErrorContains(t, err, want, text) {
			assert.ErrorContains(t, err, "as in http://localhost:8080/spans/", text)
			assert.NotContains(t, err.Error(), "s3cret")
		}
	}
}

func TestTokenIsNeverPrinted(t *testing.T) {
	token, err := endpoint.NewToken("s3cret\n")
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		assert.NotContains(t, fmt.Sprintf(verb, token), "s3cret", verb)
		assert.NotContains(t, fmt.Sprintf(verb, endpoint.Client{Token: token}), "s3cret", verb)
		assert.NotContains(t, fmt.Sprintf(verb, &endpoint.Client{Token: token}), "s3cret", verb)
	}
	for _, text := range []string{"a b", "a\nb", "a\x00", "é"} {
		_, err := endpoint.NewToken(text)
		assert.Error(t, err, "%q", text)
		assert.NotContains(t, err.Error(), text)
	}
}

func TestTokenFileOfAnyLengthIsNotRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("x", 1<<20)), 0o600))
	_, err := endpoint.ReadToken(name)
	assert.ErrorContains(t, err, "longer than 16384 bytes")
}
