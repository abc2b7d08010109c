// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// group is a group as JSON. Its mask is a string, since a JSON number does not hold 64 bits
// everywhere.
type group struct {
	Name    string   `json:"name"`
	Bit     int      `json:"bit"`
	Mask    string   `json:"mask"`
	Presets []string `json:"presets"`
	Doc     string   `json:"doc"`
}

// preset is a preset as JSON.
type preset struct {
	Name   string   `json:"name"`
	Mask   string   `json:"mask"`
	Groups []string `json:"groups"`
	Doc    string   `json:"doc"`
}

// groupsOf returns the groups of m, in bit order.
func groupsOf(c *spangate.Catalog, m spangate.Mask) []group {
	groups := []group{}
	for bit := range m.Bits() {
		g, _ := c.Group(c.Format(bit))
		presets := []string{}
		for p := range c.Presets() {
			if p.Mask.HasAny(bit) {
				presets = append(presets, p.Name)
			}
		}
		groups = append(groups, group{g.Name, g.Position(), bit.String(), presets, g.Doc})
	}
	return groups
}

func (p *program) groups() *cobra.Command {
	cmd := &cobra.Command{Use: "groups", Short: "Show the groups of a vocabulary, with their bits"}
	return p.offline(cmd, func(c *spangate.Catalog, _ string) (answer, error) {
		groups := groupsOf(c, c.All())
		return answer{groups, func() { drawGroups(p.stdout, "GROUP", groups) }}, nil
	})
}

func drawGroups(s *screen, title string, groups []group) {
	var rows [][]string
	for _, g := range groups {
		rows = append(rows, []string{g.Name, strconv.Itoa(g.Bit), g.Mask, list(g.Presets, ""), g.Doc})
	}
	s.table([]string{title, "BIT", "MASK", "PRESETS", "SPANS"}, rows)
}

func (p *program) presets() *cobra.Command {
	cmd := &cobra.Command{Use: "presets", Short: "Show the presets of a vocabulary, with their groups"}
	return p.offline(cmd, func(c *spangate.Catalog, _ string) (answer, error) {
		presets, rows := []preset{}, [][]string{}
		for p := range c.Presets() {
			row := preset{p.Name, p.Mask.String(), c.Names(p.Mask), p.Doc}
			presets, rows = append(presets, row), append(rows, []string{row.Name, row.Mask, row.Doc, list(row.Groups, "nothing")})
		}
		return answer{presets, func() { p.stdout.table([]string{"PRESET", "MASK", "CHOOSE IT FOR", "GROUPS"}, rows) }}, nil
	})
}

func (p *program) explain() *cobra.Command {
	return p.offline(&cobra.Command{
		Use:   "explain SPEC",
		Short: "Explain a spec: what each entry does, what is on, what becomes of traces",
		Long: `Explain says what each entry of SPEC does, what is on, and what becomes of traces in Go
processes and in those of NeMo Gym, which are Python.

A Python process reads a spec in another way. nemo-lens (b85578f) rejects one with an
exclusion or with a name that it doesn't know, and that process emits no spans; its newer
registry keeps such an entry pending, and the rest of the spec is on. For a spec with an
exclusion, explain shows a list of the same groups to give Python instead.`,
		Example: `  spangate explain default,sandbox
  spangate explain all,-step,-optimizer
  spangate explain --catalog lens per_step --json`,
	}, func(c *spangate.Catalog, text string) (answer, error) {
		e, err := explain(c, text)
		return answer{e, func() { e.draw(p.stdout, c) }}, err
	})
}

// explanation is what a spec means, as JSON. Fields are only ever added.
type explanation struct {
	Spec      string  `json:"spec"`      // as given
	Namespace string  `json:"namespace"` // of the catalog
	Canonical string  `json:"canonical"` // the spec with the groups alone, in bit order
	Mask      string  `json:"mask"`      // in hexadecimal
	Groups    []group `json:"groups"`    // that are on, in bit order
	Entries   []entry `json:"entries"`   // that are not empty, in the order of the spec
	Traces    traces  `json:"traces"`    // with just these groups on
}

// entry is one entry of a spec.
type entry struct {
	Name    string `json:"name"`    // as written, without the '-' of an exclusion
	Offset  int    `json:"offset"`  // of the name in the spec, in bytes
	Exclude bool   `json:"exclude"` // it begins with '-'
	Kind    string `json:"kind"`    // preset or group
	Mask    string `json:"mask"`    // of the name, in hexadecimal
	// Changes has the groups that the entry adds to the entries before it or, for an exclusion,
	// takes from the whole spec, without those that an exclusion before it takes.
	Changes []string `json:"changes"`
}

// explain returns what text means in c. The error is a [*spangate.ParseError].
func explain(c *spangate.Catalog, text string) (*explanation, error) {
	mask, err := c.Parse(text)
	if err != nil {
		return nil, err
	}
	e := &explanation{
		Spec: text, Namespace: c.Namespace(),
		Canonical: c.Format(mask), Mask: mask.String(), Groups: groupsOf(c, mask),
		Entries: []entry{}, Traces: traces{Go: goTraces(mask), Python: pythonTraces(c, text, mask)},
	}
	var selected, added, taken spangate.Mask
	for in := range spec.Entries(text) { // exclusions take from all, wherever they stand
		if m, _ := c.Lookup(in.Name); !in.Exclude {
			selected |= m
		}
	}
	for in := range spec.Entries(text) {
		m, _ := c.Lookup(in.Name)
		row := entry{Name: in.Name, Offset: in.Offset, Exclude: in.Exclude, Kind: "preset", Mask: m.String()}
		if _, ok := c.Group(in.Name); ok {
			row.Kind = "group"
		}
		if in.Exclude {
			row.Changes = c.Names(m & selected &^ taken)
			taken |= m
		} else {
			row.Changes = c.Names(m &^ added)
			added |= m
		}
		e.Entries = append(e.Entries, row)
	}
	return e, nil
}

// draw shows e to people.
func (e *explanation) draw(s *screen, c *spangate.Catalog) {
	s.fields("spec", orQuoted(escape(e.Spec)), "means", orQuoted(e.Canonical),
		"mask", fmt.Sprintf("%s, %d of the %d groups of %s", e.Mask, len(e.Groups), c.All().Count(), e.Namespace))
	var rows [][]string
	for _, entry := range e.Entries {
		sign, name, nothing := "+ ", escape(entry.Name), "nothing: it is on already"
		if entry.Exclude {
			sign, name, nothing = "- ", "-"+name, "nothing: it is off anyway"
		}
		changes := nothing
		if len(entry.Changes) > 0 {
			changes = sign + list(entry.Changes, "")
		}
		rows = append(rows, []string{name, entry.Kind, changes})
	}
	s.table([]string{"ENTRY", "IS A", "CHANGES"}, rows)
	drawGroups(s, "ON", e.Groups)
	s.table([]string{"IN", "TRACES"}, [][]string{{"Go", e.Traces.Go.Note}, {"Python", e.Traces.Python.Note}})
}

// traces is what becomes of traces with some groups on, in the processes of one job. Spans lie
// as in NeMo Gym: the driver's client span is above the agent's server span, which is above the
// rollout's. Each note says the same for people.
type traces struct {
	Go     inGo     `json:"go"`     // where spans are behind a gate
	Python inPython `json:"python"` // where a span that is off takes the context of the trace with it
}

type inGo struct {
	Split bool   `json:"split"` // whether a trace breaks in two at a Go process: never
	Root  string `json:"root"`  // the group of the topmost span, if one that is on is above all others
	Note  string `json:"note"`
}

type inPython struct {
	Accepted bool     `json:"accepted"` // by nemo-lens, which rejects a spec with an exclusion and then emits no spans
	Spec     string   `json:"spec"`     // selects the same groups there; empty for no group, since a blank spec is default
	Split    bool     `json:"split"`    // a trace breaks in two between processes, with Spec
	Missing  []string `json:"missing"`  // the groups that would have to be on for one trace, in bit order
	Note     string   `json:"note"`
}

const (
	// acrossProcesses has the groups of a rollout, which runs in several processes. The spans of
	// the other groups stay in one.
	acrossProcesses = spangate.PresetAll &^ spangate.LensPresetAll
	// joins has the groups whose spans pass a trace from one Python process to the next.
	joins = spangate.BitServer | spangate.BitHTTPClient
)

// roots has the groups that may be at the root of a trace, the topmost first.
var roots = []struct {
	bit        spangate.Mask
	name, note string
}{
	{spangate.BitJob, "job", "; the root is the job's span"},
	{spangate.BitHTTPClient, "http_client", "; one trace for each rollout, with the driver's client span as the root"},
	{spangate.BitServer, "server", "; one trace for each rollout, with the agent's server span as the root"},
	{spangate.BitRollout, "rollout", "; one trace for each rollout, with its own span as the root, since no client or server span is above it"},
	{acrossProcesses, "", "; there may be no span above, and what has none begins a trace"},
}

func goTraces(m spangate.Mask) inGo {
	if m == 0 {
		return inGo{Note: "no spans; a trace that comes in is passed on as it is"}
	}
	t := inGo{Note: "never split by a Go process: what is beneath a site that is off joins the nearest span above it that is on"}
	for _, r := range roots {
		if m.HasAny(r.bit) {
			t.Root = r.name
			t.Note += r.note
			break
		}
	}
	return t
}

func pythonTraces(c *spangate.Catalog, text string, m spangate.Mask) inPython {
	const (
		rejected = "rejected: nemo-lens (b85578f) has no exclusions, and that process emits no spans; its newer registry keeps them pending, and what they take away stays on"
		noTraces = "for no spans, set NEMO_GYM_OTEL_TRACES_ENABLED=0"
	)
	t := inPython{Accepted: true, Spec: c.Format(m), Missing: []string{}}
	for e := range spec.Entries(text) {
		t.Accepted = t.Accepted && !e.Exclude
	}
	if t.Accepted && m != 0 {
		t.Spec = text
	}
	missing := joins &^ m
	switch {
	case spec.Trim(text) == "":
		t.Note = "a blank spec is not read there, and default is on; " + noTraces
	case m == 0 && t.Accepted:
		t.Note = "no spans"
	case m == 0:
		t.Note = rejected + "; " + noTraces
	case !m.HasAny(acrossProcesses):
		t.Note = "nothing to split: the spans of these groups stay in one process"
	case missing == 0:
		t.Note = "one trace across processes: server and http_client are on"
	default:
		t.Split, t.Missing = true, c.Names(missing)
		t.Note = "split across processes: without " + strings.Join(t.Missing, ", ") +
			" NeMo Gym's processes don't join each other's traces; whole with " + c.Format(m|missing)
	}
	if m != 0 && !t.Accepted {
		t.Note = rejected + "; give it " + t.Spec + " instead; with that, " + t.Note
	}
	return t
}
