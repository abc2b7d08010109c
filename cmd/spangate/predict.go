// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"

	"github.com/spangate/spangate/control/wire"
)

// prediction is what a change would do, as JSON.
type prediction struct {
	Generation string   `json:"generation"` // of the state that it was computed from
	Old        []string `json:"old"`        // the groups that are on, sorted
	New        []string `json:"new"`        // those that would be on, sorted
	// The groups that the change is about and that would stay as they are: kept off by the
	// deny list or the ceiling, kept off by leases that quiet them, and kept on by leases that
	// add them.
	Withheld []string `json:"withheld"`
	Quieted  []string `json:"quieted"`
	StillOn  []string `json:"still_on"`
	Pending  []string `json:"pending"`
	Pinned   bool     `json:"pinned"`
}

// predict returns the answer for what set, lease or quiet, which change names, would do with a spec.
// It only reads the state of the process, and has the errors of the process for the spec.
func (r *remote) predict(text string, allowPending bool, change string) (answer, error) {
	state, err := r.State(r.ctx)
	if err != nil {
		return answer{}, err
	}
	entries, selected, err := newVocabulary("", state.Groups, state.Presets).parse(text, allowPending)
	if err != nil {
		return answer{}, err
	}
	waiting := pendingOf(entries)
	if change != "set" && len(selected)+len(waiting) == 0 {
		return answer{}, usagef("%s %q: it selects no group", change, text)
	}
	is := make(map[string]bool)
	for _, g := range selected {
		is[g.Name] = true
	}
	p := prediction{Generation: state.Generation, Old: []string{}, New: []string{}, Withheld: []string{}, Quieted: []string{}, StillOn: []string{}, Pending: waiting, Pinned: state.Pinned}
	for _, g := range state.Groups {
		baseline, quiet, added := g.Baseline, len(g.Quiet) > 0, len(g.Leases) > 0
		switch change {
		case "set":
			baseline = is[g.Name]
		case "lease":
			added = added || is[g.Name]
		case "quiet":
			quiet = quiet || is[g.Name]
		}
		on := (baseline && !quiet || added) && !g.Withheld
		if state.Pinned {
			on = g.On
		}
		for _, list := range []struct {
			has   bool
			names *[]string
		}{
			{g.On, &p.Old},
			{on, &p.New},
			{is[g.Name] && change != "quiet" && g.Withheld, &p.Withheld},
			{is[g.Name] && change == "set" && quiet && !added && !g.Withheld, &p.Quieted},
			{is[g.Name] == (change == "quiet") && change != "lease" && on && !state.Pinned, &p.StillOn},
		} {
			if list.has {
				*list.names = append(*list.names, g.Name)
			}
		}
	}
	return answer{value: p, fields: []string{
		"process", r.URL(), "generation", short(p.Generation),
		"would change", cmp.Or(difference(wire.Change{Old: p.Old, New: p.New}), "nothing"),
		"withheld", warning(p.Withheld, ", which the process keeps off"),
		"quieted", warning(p.Quieted, ", which leases quiet"),
		"still on", warning(p.StillOn, ", because leases add them"),
		"pending", warning(p.Pending, ", not registered yet"), "pinned", pinned(state), "changes", readOnly(state),
	}}, nil
}
