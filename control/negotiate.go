// SPDX-License-Identifier: Apache-2.0

package control

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// prefersHTML reports whether the header Accept prefers HTML to JSON.
func prefersHTML(h http.Header) bool {
	accept := strings.Join(h["Accept"], ",")
	return quality(accept, "text/html") > quality(accept, typeJSON)
}

// quality returns the weight, 0 to 1, that the header Accept gives a media type: that of the
// most specific range that matches. A range without a valid weight has 1.
func quality(accept, mediaType string) (weight float64) {
	kind, _, _ := strings.Cut(mediaType, "/")
	ranges := []string{"*/*", kind + "/*", mediaType}
	best := -1
	for entry := range strings.SplitSeq(accept, ",") {
		name, params, _ := mime.ParseMediaType(entry)
		if specific := slices.Index(ranges, name); specific > best {
			best, weight = specific, 1
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				weight = q
			}
		}
	}
	return weight
}

// unchanged reports whether If-None-Match has the entity tag, by the weak comparison.
func unchanged(h http.Header, tag string) bool {
	return matches(h["If-None-Match"], tag) || matches(h["If-None-Match"], "W/"+tag)
}

// matches reports whether the header is "*", or one of its entity tags is tag, which holds no comma,
// by the strong comparison.
func matches(header []string, tag string) bool {
	value := strings.Join(header, ",")
	for entry := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(entry) == tag {
			return true
		}
	}
	return strings.TrimSpace(value) == "*"
}

func quote(generation string) string { return `"` + generation + `"` }
