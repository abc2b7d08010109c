// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net/http"
	"strconv"
	"strings"
)

// prefersHTML reports whether who sent the header would rather have HTML than JSON.
func prefersHTML(h http.Header) bool {
	accept := strings.Join(h["Accept"], ",")
	return quality(accept, "text/html") > quality(accept, typeJSON)
}

// quality returns how much the header Accept wants this media type, 0 to 1: what the most
// specific of its ranges says.
func quality(accept, mediaType string) float64 {
	kind, _, _ := strings.Cut(mediaType, "/")
	specific, best := 0, 0.0
	for entry := range strings.SplitSeq(accept, ",") {
		mediaRange, params, _ := strings.Cut(entry, ";")
		var rank int
		switch strings.ToLower(strings.TrimSpace(mediaRange)) {
		case mediaType:
			rank = 3
		case kind + "/*":
			rank = 2
		case "*/*":
			rank = 1
		}
		if rank > specific {
			specific, best = rank, weight(params)
		}
	}
	return best
}

// weight returns the parameter q, or 1 if there is none that can be read.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if q, err := strconv.ParseFloat(value, 64); strings.EqualFold(name, "q") && err == nil {
			return q
		}
	}
	return 1
}

// How two tags are compared: weakly where what is the same for most purposes will do, as for
// a cache, strongly where it will not, as for a change.
const (
	weakly   = true
	strongly = false
)

// matches reports whether one of the header's entity tags is tag, which holds no comma.
func matches(header []string, tag string, weak bool) bool {
	for entry := range strings.SplitSeq(strings.Join(header, ","), ",") {
		entry = strings.TrimSpace(entry)
		if weak {
			entry = strings.TrimPrefix(entry, "W/")
		}
		if entry == tag || entry == "*" {
			return true
		}
	}
	return false
}

// quote returns the entity tag of a generation.
func quote(generation string) string { return `"` + generation + `"` }
