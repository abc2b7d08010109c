// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// prediction is what would follow from a change, as JSON.
type prediction struct {
	Generation string       `json:"generation"` // of the state that it is computed from
	Old        []string     `json:"old"`        // the groups that are on, sorted
	New        []string     `json:"new"`        // those that would be on, sorted
	Pending    []string     `json:"pending"`    // the names of the spec that are not registered
	Groups     []wire.Group `json:"groups"`     // as they would be; the id of a lease that is not granted is empty
}

// predict returns what cmd, which is set, lease or quiet, would do with a spec and req, whose Owner is
// who asks. It changes nothing, and refuses what the process would refuse.
func (r *remote) predict(cmd, text string, req wire.LeaseRequest) (answer, error) {
	state, err := r.State(r.ctx)
	if err != nil {
		return answer{}, err
	}
	v := newVocabulary("", state.Groups, state.Presets)
	entries, selected, err := v.parse(text, req.AllowPending)
	if err != nil {
		return answer{}, err
	}
	excluded := func(name string) bool {
		return slices.ContainsFunc(entries, func(e entry) bool { return e.Exclude && spec.Lower(e.Name) == name })
	}
	if cmd != "set" && len(selected) == 0 && !slices.ContainsFunc(entries, func(e entry) bool {
		return e.Kind == kindPending && !excluded(spec.Lower(e.Name)) && !excluded(spangate.NameAll)
	}) {
		excludes := len(entries) > 0 && !slices.ContainsFunc(entries, func(e entry) bool { return !e.Exclude })
		return answer{}, usagef("%s %q: it selects no group%s", cmd, text,
			onlyIf(excludes, "; a '-' takes a name out of what the other names select. To turn a group off, quiet it by its name, without the '-'"))
	}
	if err := refusal(cmd, req, state); err != nil {
		return answer{}, err
	}
	isSelected := make(map[string]bool)
	for _, g := range selected {
		isSelected[g.Name] = true
	}
	p := prediction{state.Generation, state.Enabled, []string{}, pendingOf(entries), state.Groups}
	owners := map[string]string{"": label(req.Owner)}
	for _, l := range state.Leases {
		owners[l.ID] = label(l.Owner) + ", " + inSeconds(left(&l)) + " left"
	}
	var stay []string // groups that the change is to turn on or off, or that it moves into the baseline or out of it, and that stay on or off
	for i := range p.Groups {
		g := &p.Groups[i]
		in, was := isSelected[g.Name], *g
		switch {
		case cmd == "set":
			g.Baseline = in
		case in && cmd == "lease":
			g.Leases = append(g.Leases, "")
		case in:
			g.Quiet = append(g.Quiet, "")
		}
		on := (g.Baseline && len(g.Quiet) == 0 || len(g.Leases) > 0) && !g.Withheld
		if g.Overridden = state.Pinned && on != g.On; !g.Overridden {
			g.On = on
		}
		if g.On {
			p.New = append(p.New, g.Name)
		}
		if (in || cmd == "set") && g.On != (in && cmd != "quiet") || g.Baseline != was.Baseline && g.On == was.On {
			stay = append(stay, fmt.Sprintf("%s %s (%s)", g.Name, onOff[g.On], because(*g, owners)))
		}
	}
	return answer{value: p, fields: []string{
		"process", r.URL(), "generation", short(p.Generation),
		"would change", cmp.Or(difference(wire.Change{Old: p.Old, New: p.New}), "nothing"+onlyIf(cmd == "set" && text != state.Spec, " now; the baseline becomes "+orQuoted(short(text)))),
		"stay", warning(stay, ""),
		"pending", v.pending(p.Pending), "pinned", pinned(state), "changes", readOnly(state),
	}}, nil
}

// refusal returns why the process would refuse req, its spec aside.
func refusal(cmd string, req wire.LeaseRequest, state *client.State) error {
	field := "owner"
	if cmd == "set" {
		field = "who"
	}
	if err := spec.CheckLine(req.Owner, spec.MaxOwnerLen); err != nil {
		return usagef("--%s %s: %w", field, short(req.Owner), err)
	}
	if !spec.Visible(req.Owner) && (cmd != "set" || req.Owner != "") {
		return usagef("--%s %q has no visible character", field, req.Owner)
	}
	if err := spec.CheckLine(req.Why, spec.MaxWhyLen); err != nil {
		return usagef("--why %s: %w", short(req.Why), err)
	}
	if cmd == "set" {
		return nil
	}
	ttl, _ := time.ParseDuration(req.TTL)
	if most, err := time.ParseDuration(state.MaxTTL); ttl <= 0 || err == nil && ttl > most {
		return usagef("--for %s: more than 0 and at most %s", req.TTL, short(state.MaxTTL))
	}
	if n := len(state.Leases); n >= state.MaxLeases && req.Revoke == "" { // the process has places for revocations beside
		return &commandError{fmt.Errorf("there are %d leases already, and the process permits %d; release some", n, state.MaxLeases), exitStale, wire.CodeTooManyLeases}
	}
	return nil
}
