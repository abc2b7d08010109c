// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/otelgate"
)

// spans converts the scopes of a provider for a controller.
type spans struct {
	provider *otelgate.TracerProvider
	catalogs []catalog      // they name the groups of rules; the first has the gate of the provider
	ready    otelgate.Rules // these are not reported if they match no scope
	withheld bool           // whether the provider counts withheld spans
}

// list is the function of [control.Scopes].
func (s spans) list() (scopes []control.Scope, unmatched []control.UnmatchedRule) {
	for scope := range s.provider.Scopes() {
		converted := control.Scope{Name: scope.Name}
		for _, site := range scope.Sites {
			converted.Sites = append(converted.Sites, control.Site{
				Rule: s.text(site.Rule, site.Gate), SpanName: site.Rule.Name, Kind: kindText(site.Rule.Kind),
				Gate: site.Gate, Group: site.Group,
				Started: site.Started, Withheld: site.Withheld, CountsWithheld: s.withheld,
			})
		}
		scopes = append(scopes, converted)
	}
	for rule := range s.provider.Unmatched() {
		if !slices.Contains(s.ready, rule.Rule) {
			unmatched = append(unmatched, control.UnmatchedRule{Rule: s.text(rule.Rule, cmp.Or(rule.Rule.Gate, s.catalogs[0].gate)), Nearest: rule.Nearest})
		}
	}
	return scopes, unmatched
}

// text returns r, whose groups are of gate, as a line of text, or "" if r is no rule.
func (s spans) text(r otelgate.Rule, gate *spangate.Gate) string {
	if r == (otelgate.Rule{}) {
		return ""
	}
	groups := ""
	for _, c := range s.catalogs {
		if c.gate == gate {
			groups = c.catalog.Format(r.Group)
		}
	}
	return r.Text(groups)
}

func kindText(k trace.SpanKind) string {
	if k == trace.SpanKindUnspecified {
		return ""
	}
	return k.String()
}
