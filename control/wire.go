// SPDX-License-Identifier: Apache-2.0

package control

import (
	"strconv"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/share"
)

// This file converts the types of this package to those of package wire.

func wireState(s State) wire.State {
	return wire.State{
		Baseline: wire.Baseline(s.Baseline), Startup: wire.Baseline(s.Startup),
		Generation: s.Generation, Now: s.Now, File: (*wire.File)(s.File), Pinned: s.Pinned, Deny: s.Deny, Ceiling: s.Ceiling,
		Enabled: s.Enabled, Roots: s.Roots, Pending: s.Pending,
		Groups: convert(s.Groups, wireGroup), Scopes: convert(s.Scopes, wireScope),
		Unmatched: convert(s.Unmatched, func(r UnmatchedRule) wire.UnmatchedRule { return wire.UnmatchedRule(r) }), Presets: convert(s.Presets, wirePreset),
		Leases: convert(s.Leases, wireLease), Changes: convert(s.Changes, wireChange), Overrides: wireOverrides(s.Overrides),
		MaxTTL: s.MaxTTL.String(), MaxLeases: s.MaxLeases,
	}
}

func wireGroup(g Group) wire.Group {
	group := wire.Group{
		Name: g.Name, On: g.On, Baseline: g.Baseline, Leases: g.Leases, Details: g.Details, Quiet: g.Quiet, Withheld: g.Withheld, Overridden: g.Overridden,
		Members: convert(g.Members, func(m Member) wire.Member { return wire.Member(m) }),
	}
	if g.Spans != nil {
		spans := wireSpans(*g.Spans)
		group.Spans = &spans
	}
	return group
}

func wireOverrides(o Overrides) wire.Overrides {
	count := func(c Count) wire.Count { return wire.Count{Reason: c.Reason, Count: strconv.FormatUint(c.N, 10)} }
	return wire.Overrides{
		Admitted: o.Admitted, Live: o.Live, Chosen: strconv.FormatUint(o.Chosen, 10), Received: strconv.FormatUint(o.Received, 10),
		Started: strconv.FormatUint(o.Started, 10), Sampled: strconv.FormatUint(o.Sampled, 10), Cut: convert(o.Cut, count), Refused: convert(o.Refused, count),
		MaxTraces: o.Budget.Traces, MaxSpansPerSecond: o.Budget.SpansPerSecond, MaxSpansPerTrace: o.Budget.SpansPerTrace, MaxTime: o.Budget.Time.String(),
	}
}

func wireSpans(s Spans) wire.Spans {
	converted := wire.Spans{Started: strconv.FormatUint(s.Started, 10), PerSecond: s.PerSecond}
	if s.CountsWithheld {
		converted.Withheld = strconv.FormatUint(s.Withheld, 10)
	}
	return converted
}

func wireScope(s ScopeInfo) wire.Scope {
	return wire.Scope{Name: s.Name, Spans: wireSpans(s.Spans), Sites: convert(s.Sites, wireSite)}
}

func wireSite(s SiteInfo) wire.Site {
	return wire.Site{Rule: s.Rule, SpanName: s.SpanName, Kind: s.Kind, Groups: s.Groups, On: s.On, Spans: wireSpans(s.Spans)}
}

func wirePreset(p Preset) wire.Preset {
	return wire.Preset{Name: p.Name, State: string(p.State), Groups: p.Groups, Doc: p.Doc}
}

func wireLease(l LeaseInfo) wire.Lease {
	portion := ""
	if l.Share != 0 {
		portion = share.Format(l.Share)
	}
	return wire.Lease{
		Share: portion, Match: l.Match, Revoke: l.Revoke,
		ID: l.ID, Owner: l.Owner, Spec: l.Spec, Quiet: l.Quiet, AllowPending: l.AllowPending, Why: l.Why,
		Groups: l.Groups, Quieted: l.Quieted, StillOn: l.StillOn, Withheld: l.Withheld, Pending: l.Pending,
		Start: l.Start, End: l.End, Left: l.Left.String(),
	}
}

func wireChange(c Change) wire.Change {
	return wire.Change{Generation: c.Generation, Time: c.Time, Kind: string(c.Kind), Who: c.Who, Why: c.Why, Old: c.Old, New: c.New}
}

// convert returns to(v) for each v of list. The result is never nil.
func convert[T, W any](list []T, to func(T) W) []W {
	converted := make([]W, 0, len(list))
	for _, v := range list {
		converted = append(converted, to(v))
	}
	return converted
}
