// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spangate/spangate/internal/spec"
)

// Authorizer decides whether a request may change what is on. It is called for every request
// that would change something and for no other, before the body is read, with the request as
// the handler got it.
//
// who names the caller for the change log, and replaces the name that the request gives itself.
// If it is empty, the request's own name counts. It must be a line of text of at most
// [MaxOwnerLen] bytes with a visible character, or the request is refused. An error refuses the
// request: with 401 if it is an [*Unauthorized], with 403 otherwise. Its text is part of the
// answer. An Authorizer may be called by any number of goroutines at once.
type Authorizer func(r *http.Request) (who string, err error)

// Unauthorized is the error of an [Authorizer] for credentials that are missing or wrong: the
// request is refused with 401. Only a pointer to it is an error.
type Unauthorized struct {
	// Challenge is the header WWW-Authenticate of the answer, as in Basic realm="spans".
	// If it is empty it is Bearer realm="spangate".
	Challenge string
	// Err says what to do. If it is nil the answer says that credentials are missing or
	// wrong.
	Err error
}

var _ error = (*Unauthorized)(nil)

// Error returns the text of e.Err.
func (e *Unauthorized) Error() string {
	if e == nil || e.Err == nil {
		return "credentials are missing or wrong"
	}
	return e.Err.Error()
}

// Unwrap returns e.Err.
func (e *Unauthorized) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// challenge is the header WWW-Authenticate of the answer.
func (e *Unauthorized) challenge() string {
	const bearer = `Bearer realm="spangate"`
	if e == nil {
		return bearer
	}
	return cmp.Or(e.Challenge, bearer)
}

// BearerToken lets requests pass that carry the token:
//
//	Authorization: Bearer TOKEN
//
// White space around the token is removed, so that it can be the content of a file. With a blank
// token no request passes. Requests that don't pass are refused with 401.
func BearerToken(token string) Authorizer { return BearerTokens(map[string]string{"": token}) }

// BearerTokens is [BearerToken] with several tokens. The map's keys are the names of their
// holders: in the change log, a request with the token of ann is ann's, whatever name the
// request itself gives. If two names have the same token, the name that sorts first counts. A
// later change of the map has no effect. The comparison takes the same time for every token.
func BearerTokens(tokens map[string]string) Authorizer {
	type holder struct {
		name string
		sum  [sha256.Size]byte
	}
	var holders []holder
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(tokens))) {
		if token := strings.TrimSpace(tokens[name]); token != "" {
			holders = append(holders, holder{name, sha256.Sum256([]byte(token))})
		}
	}
	return func(r *http.Request) (who string, err error) {
		scheme, given, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
		given = strings.TrimSpace(given)
		sum := sha256.Sum256([]byte(given))
		pass := 0
		for _, h := range holders {
			if equal := subtle.ConstantTimeCompare(sum[:], h.sum[:]); equal == 1 {
				who, pass = h.name, 1
			}
		}
		switch {
		case len(holders) == 0:
			return "", &Unauthorized{Err: errors.New("this endpoint takes the header Authorization: Bearer, but the program gave it a blank token, so no request passes; give control.BearerToken another")}
		case !strings.EqualFold(scheme, "Bearer") || given == "":
			return "", &Unauthorized{Err: errors.New("send the header Authorization: Bearer, with a token of this endpoint")}
		case pass == 0:
			return "", &Unauthorized{
				Challenge: `Bearer realm="spangate", error="invalid_token"`,
				Err:       errors.New("the token in the header Authorization: Bearer is not one of this endpoint"),
			}
		}
		return who, nil
	}
}

// Anyone lets every request pass whose header Host names this machine or one of hosts. It is for
// an endpoint on which every client that can reach it may change what is on.
//
// localhost, its subdomains and every loopback address are this machine. hosts are other host
// names or addresses; case and port don't matter. Requests for another host are refused with
// 403: the site of a web page can resolve its own name to the address of this machine (DNS
// rebinding), and the browser does not take the page's requests for cross-origin. Reads are not
// authorised at all: such a page can read what GET gives, which is the names and docs of groups,
// and the owners, specs and reasons of leases and changes. A program that must not show them has
// to guard the handler itself.
func Anyone(hosts ...string) Authorizer {
	others := make(map[string]bool)
	for _, host := range hosts {
		if name := hostname(host); name != "" {
			others[name] = true
		}
	}
	return func(r *http.Request) (string, error) {
		if name := hostname(r.Host); isLocal(name) || others[name] {
			return "", nil
		}
		return "", fmt.Errorf("the request is for the host %q, and only those for this machine pass; ask localhost, or pass that host to control.Anyone", spec.Head(r.Host))
	}
}

// hostname returns the host of a header Host: in lower case, without port, the brackets of an
// IPv6 address and the dot of the root, and an address in canonical form.
func hostname(host string) string {
	name := strings.Trim(host, "[]")
	if _, err := netip.ParseAddr(name); err != nil {
		name = (&url.URL{Host: host}).Hostname()
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if a, ok := parseAddr(name); ok {
		return a.Unmap().WithZone("").String()
	}
	return name
}

func isLocal(name string) bool {
	a, err := netip.ParseAddr(name)
	const inNames = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return err == nil && a.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost") && strings.Trim(name, inNames) == ""
}

// parseAddr reads an address, also in the notations of inet_aton, such as 127.1 and 0x7f000001.
// A browser reads all of them as addresses and not as names.
func parseAddr(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a, true
	}
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		bits := 8 // of each part but the last, which has all that remain
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(part, 0, bits)
		if err != nil || strings.Contains(part, "_") || strings.HasPrefix(part, "0b") || strings.HasPrefix(part, "0o") {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}
