// SPDX-License-Identifier: Apache-2.0

package otelgate_test

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// baggageSeeds are baggage headers with a special case each, for a clock at the start of the year 2000.
// testdata/fuzz has the inputs that fuzzing found.
var baggageSeeds = [][2]string{
	{"spangate=1.x.946684860..all", ""},                                                  // valid, unsigned
	{"spangate=" + token("x", time.Unix(946684860, 0), "a,-b", newKey), ""},              // signed
	{"spangate=" + token("x", time.Unix(946684860, 0), "a", otherKey), "a=1"},            // signed by another
	{"a=1, spangate = 1.x.946684860..a%2C%20b ; p=1 ,b=2", "c"},                          // space, properties, escapes
	{"spangate=1.x.946684860..all", "spangate=1.x.946684860..all"},                       // twice
	{"spangate=1.x.946684860..all,spangate", ""},                                         // twice, once without value
	{"Spangate=1.x.946684860..all,spangate.=,xspangate=", ""},                            // similar keys
	{"spangate=1.x.946684800..all", ""},                                                  // ended just now
	{"spangate=1.x.946774800..all", ""},                                                  // as far ahead as may be
	{"spangate=1.x.946774801..all", ""},                                                  // and a second further
	{"spangate=1.x.99999999999..all", ""},                                                // the year 5138
	{"spangate=1.x.946684860..%", "spangate=1.x.946684860..%0A"},                         // bad escapes
	{"spangate=1.x.946684860..é", "spangate=1.x.946684860..\xff"},                        // not ASCII
	{"spangate=1.x.946684860.." + strings.Repeat("x", 256), ""},                          // too long
	{"spangate=1.x.946684860..all,a=" + strings.Repeat("x", 8192), ""},                   // too much baggage
	{"spangate=1.x.0946684860..all", "spangate=1.x.+946684860..all"},                     // other forms of the number
	{"=,;=;,,spangate;=1.x.946684860..all", "\tspangate\t=\t1.x.946684860..all\t;;;,=="}, // delimiters
}

var (
	memberForm = regexp.MustCompile(`(?s)^[ \t]*spangate[ \t]*(?:=[ \t]*([^;]*?)[ \t]*)?(?:;.*)?$`)
	tokenForm  = regexp.MustCompile(`^1\.([A-Za-z0-9_-]{1,64})\.([1-9][0-9]{0,10})\.([A-Za-z0-9_-]{43})?\.([ -~]+)$`)
)

// naiveExtract is an independent Extract with the key newKey and, if trusted, Trust: it returns the name,
// or the reason why it is refused, or neither.
func naiveExtract(headers []string, trusted bool) (name spangate.OverrideName, reason string) {
	joined := strings.Join(headers, ",")
	if !strings.Contains(joined, "spangate") {
		return name, ""
	}
	if len(joined) > 8192 {
		return name, "oversized"
	}
	var values []string
	for _, m := range strings.Split(joined, ",") {
		if match := memberForm.FindStringSubmatch(m); match != nil {
			values = append(values, match[1])
		}
	}
	switch {
	case len(values) == 0:
		return name, ""
	case len(values) > 1:
		return name, "duplicate"
	case len(values[0]) > 256:
		return name, "oversized"
	}
	text, err := url.PathUnescape(values[0])
	part := tokenForm.FindStringSubmatch(text)
	if err != nil || part == nil {
		return name, "malformed"
	}
	seconds, _ := strconv.ParseInt(part[2], 10, 64)
	const now = 946684800
	switch end := time.Unix(seconds, 0); {
	case seconds <= now:
		return name, "expired"
	case seconds > now+25*3600:
		return name, "too far ahead"
	case trusted, strings.ReplaceAll(token(part[1], end, part[4], newKey), "%2C", ",") == text:
		return spangate.OverrideName{Spec: part[4], ID: part[1], End: end}, ""
	case part[3] != "":
		return name, "bad signature"
	default:
		return name, "untrusted"
	}
}

// otherMembers returns the members of the baggage except the token, sorted.
func otherMembers(c propagation.HeaderCarrier) []string {
	members := strings.Split(strings.Join(c["Baggage"], ","), ",")
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" || memberForm.MatchString(m) })
	slices.Sort(members)
	return members
}

// What Extract decides is what an independent reading decides, and what Inject then writes has the
// override once or not at all, is within the limits, and has the rest of the baggage as the base wrote it.
func FuzzExtractAndInject(f *testing.F) {
	for _, s := range baggageSeeds {
		f.Add(s[0], s[1], false)
		f.Add(s[0], s[1], true)
	}
	f.Fuzz(func(t *testing.T, first, second string, trusted bool) {
		synctest.Test(t, func(t *testing.T) {
			headers := []string{first, second}
			want, reason := naiveExtract(headers, trusted)
			p := newPropagator(t, otelgate.Keys(newKey), otelgate.Trust(func(context.Context, propagation.TextMapCarrier) bool { return trusted }))
			ctx := extract(p, headers...)
			if got := nameOf(ctx); got != want {
				t.Fatalf("%q, trusted %t: %+v, want %+v", headers, trusted, got, want)
			}
			switch got := refused(p); {
			case reason == "" && len(got) != 0, reason != "" && got[reason] != 1, len(got) > 1:
				t.Fatalf("%q, trusted %t: refused %v, want %q", headers, trusted, got, reason)
			}
			if baggage.FromContext(ctx).Member("spangate").Key() != "" {
				t.Fatalf("%q: the member is left in the baggage", headers)
			}

			// Once as a program injects, and once into the copied headers of a proxy.
			for _, copied := range [][]string{nil, headers} {
				carrier, plain := propagation.HeaderCarrier{}, propagation.HeaderCarrier{}
				if copied != nil {
					carrier["Baggage"], plain["Baggage"] = slices.Clone(copied), slices.Clone(copied)
				}
				p.Inject(ctx, carrier)
				w3c.Inject(ctx, plain)
				sent := strings.Join(carrier["Baggage"], ",")
				if !slices.Equal(otherMembers(carrier), otherMembers(plain)) {
					t.Fatalf("%q: sent %q, the base alone sends %q", headers, sent, plain)
				}
				next := newPropagator(t, otelgate.Keys(newKey))
				if got := nameOf(extract(next, carrier["Baggage"]...)); got != want && refused(p)["not sent"] == 0 || len(refused(next)) > 0 {
					t.Fatalf("%q, trusted %t: sent %q, received %+v, refused %v", headers, trusted, sent, got, refused(next))
				}
				if want != (spangate.OverrideName{}) && refused(p)["not sent"] == 0 && len(sent) > 8192 {
					t.Fatalf("%q: sent %d bytes", headers, len(sent))
				}
			}
		})
	})
}
