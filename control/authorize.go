// SPDX-License-Identifier: Apache-2.0

package control

import (
	"crypto/sha256"
	"encoding/binary"
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

// Authorizer decides whether a request may change what is on. It is called once for every request
// that would change something and for no other, before the body is read, with the request as
// the handler got it. It may be called by any number of goroutines at once.
//
// who names the caller for the change log, and replaces the name that the request gives itself.
// If it is empty, the request's own name counts, and without one the address of the client: to
// have names, use [BearerTokens]. It must be a line of text of at most [MaxOwnerLen] bytes with a
// visible character, or the request is refused. An error refuses the request, with 401 if it is an
// [*Unauthorized] and with 403 otherwise; its text is part of the answer.
type Authorizer func(r *http.Request) (who string, err error)

// Unauthorized is the error of an [Authorizer] for credentials that are missing or wrong: the
// request is refused with 401. The zero value says so; a value may be copied. Only a pointer is
// an error, and a nil pointer is the same as one to the zero value.
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
	if err := e.Unwrap(); err != nil {
		return err.Error()
	}
	return "credentials are missing or wrong"
}

// Unwrap returns e.Err.
func (e *Unauthorized) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// BearerToken allows requests that carry the token:
//
//	Authorization: Bearer TOKEN
//
// All others are refused with 401. White space around the token does not count, so that it can be
// the content of a file. A blank token allows no request.
func BearerToken(token string) Authorizer { return BearerTokens(map[string]string{"": token}) }

// BearerTokens is [BearerToken] for several callers, each with a token of its own: a map from the
// name of a caller to its token. The change log has that name for the caller's requests,
// whatever name a request gives itself. If two names have the same token, the name that sorts
// first counts. The map is copied. How long a request takes tells nothing about the tokens.
func BearerTokens(tokens map[string]string) Authorizer {
	names := make(map[[sha256.Size]byte]string) // by hash, so that the time of a lookup tells nothing about a token
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(tokens))) {
		if token := strings.TrimSpace(tokens[name]); token != "" {
			names[sha256.Sum256([]byte(token))] = name
		}
	}
	return func(r *http.Request) (who string, err error) {
		scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
		token = strings.TrimSpace(token)
		who, known := names[sha256.Sum256([]byte(token))]
		switch {
		case len(names) == 0:
			return "", &Unauthorized{Err: errors.New("this endpoint takes the header Authorization: Bearer, but the program gave it a blank token, which allows no request; give setup.Token or control.BearerToken another")}
		case !strings.EqualFold(scheme, "Bearer") || token == "":
			return "", &Unauthorized{Err: errors.New("send the header Authorization: Bearer, with a token of this endpoint")}
		case !known:
			return "", &Unauthorized{
				Challenge: `Bearer realm="spangate", error="invalid_token"`,
				Err:       errors.New("the token in the header Authorization: Bearer is not one of this endpoint"),
			}
		}
		return who, nil
	}
}

// Anyone allows every request whose header Host names this machine or one of hosts. It is for
// an endpoint on which every client that can reach it may change what is on.
//
// localhost, its subdomains and every loopback address are this machine. hosts are other host
// names or addresses; case and port don't matter. Requests for another host are refused with
// 403: the site of a web page can resolve its own name to the address of this machine (DNS
// rebinding), and the browser then sees no cross-origin request. Reads are not authorised at
// all: such a page can read what GET gives, which is the names and docs of groups, and the
// owners, specs and reasons of leases and changes. A program that must not show them has to
// guard the handler itself.
func Anyone(hosts ...string) Authorizer {
	allowed := make(map[string]bool)
	for _, host := range hosts {
		allowed[hostname(host)] = true
	}
	return func(r *http.Request) (string, error) {
		if name := hostname(r.Host); isLocal(name) || name != "" && allowed[name] {
			return "", nil
		}
		return "", fmt.Errorf("the request is for the host %q, and only those for this machine are allowed; use localhost, or give that host to control.Anyone", spec.Head(r.Host))
	}
}

// hostname returns the name or address in a header Host, in canonical form: lower case, without
// the port, the brackets of an IPv6 address and the dot of the root.
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

// isLocal reports whether name, in canonical form, is this machine.
func isLocal(name string) bool {
	a, err := netip.ParseAddr(name)
	const nameChars = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return err == nil && a.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost") && strings.Trim(name, nameChars) == ""
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
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(sum)))), true
}
