// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// An override travels as the value of one member of W3C baggage. docs/override.md describes it for
// implementers. Percent-decoded, the value is
//
//	1.ID.END.SIGNATURE.SPEC
//
//	1.q7.1764604800..all                 all groups until 2025-12-01T16:00:00Z, unsigned
//	1.q7.1764604800.nCPj…4Q.default,sql  with a signature of 43 characters
const (
	tokenKey     = "spangate"
	tokenVersion = "1"

	maxTokenBytes = 256 // percent-encoded
	maxEndDigits  = 11  // until the year 5138
	signatureLen  = 43  // base64url of 32 bytes, without padding
	minKeyBytes   = 32

	// maxAhead is how far ahead Inject writes an end, and clockSkew how much further ahead Extract
	// accepts one, from a process whose clock is ahead.
	maxAhead  = 24 * time.Hour
	clockSkew = time.Hour
)

// tokenText returns the text of a token that ends in a whole second. With an empty signature, it is
// what the signature signs.
func tokenText(name spangate.OverrideName, signature string) string {
	return tokenVersion + "." + name.ID + "." + strconv.FormatInt(name.End.Unix(), 10) + "." + signature + "." + name.Spec
}

// sign returns the signature of a token. It includes the member's key, so that a signature made with the
// same key for another purpose is not one of a token.
func sign(key []byte, name spangate.OverrideName) string {
	h := hmac.New(sha256.New, key)
	_, _ = io.WriteString(h, tokenKey+"="+tokenText(name, ""))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// encodeToken returns the member's value for name. It is false if name has none.
func encodeToken(name spangate.OverrideName, signature string) (value string, ok bool) {
	value = url.PathEscape(tokenText(name, signature))
	return value, spec.IsID(name.ID) && isSpec(name.Spec) && len(value) <= maxTokenBytes
}

// decodeToken is the inverse of encodeToken; it does not check the signature. The results share no memory
// with value, which may be part of a large header that the override outlives.
func decodeToken(value string) (name spangate.OverrideName, signature string, ok bool) {
	text, err := url.PathUnescape(value)
	if err != nil {
		return name, "", false
	}
	part := strings.SplitN(strings.Clone(text), ".", 5)
	if len(part) != 5 || part[0] != tokenVersion || !spec.IsID(part[1]) || !isSpec(part[4]) {
		return name, "", false
	}
	if s := part[3]; s != "" && (len(s) != signatureLen || !spec.IsID(s)) { // base64url has the characters of an ID
		return name, "", false
	}
	end, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil || end <= 0 || len(part[2]) > maxEndDigits || part[2] != strconv.FormatInt(end, 10) {
		return name, "", false
	}
	return spangate.OverrideName{Spec: part[4], ID: part[1], End: time.Unix(end, 0)}, part[3], true
}

// isSpec reports whether s may be the spec in a token: printable ASCII, not empty. Which of its names a
// process has is not the token's concern.
func isSpec(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || '~' < r }) < 0
}
