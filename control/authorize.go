// SPDX-License-Identifier: Apache-2.0

package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// Authorizer decides whether a request may change what is on. who is the name that the
// change log puts the change down to; it may be empty, if the request is to say. An error
// refuses: its text is part of the answer.
//
// It is asked before the body is read, for every request that would change something and for
// no other.
type Authorizer func(r *http.Request) (who string, err error)

// BearerToken lets requests pass that carry the token, as in
//
//	Authorization: Bearer TOKEN
//
// The comparison takes the same time whatever is wrong. An empty token lets nothing pass.
func BearerToken(token string) Authorizer {
	want := sha256.Sum256([]byte(token))
	return func(r *http.Request) (string, error) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 || token == "" {
			return "", errors.New("send the header Authorization: Bearer, with the token that this endpoint was configured with")
		}
		return "", nil
	}
}

// Anyone lets every request pass: for an endpoint that only those can reach who may change
// what is on. Requests that a browser sends for another site are refused all the same.
func Anyone() Authorizer {
	return func(*http.Request) (string, error) { return "", nil }
}
