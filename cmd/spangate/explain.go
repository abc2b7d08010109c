// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/internal/spec"
)

// group is a group of a catalog as JSON. Its mask is a string, since a JSON number does not hold 64
// bits everywhere.
type group struct {
	Name    string   `json:"name"`
	Bit     int      `json:"bit"`
	Mask    string   `json:"mask"`
	Presets []string `json:"presets"`
	Doc     string   `json:"doc"`
}

// preset is a preset of a catalog as JSON.
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
		return answer{value: groups, rest: func() { drawBits(p.stdout, "GROUP", groups) }}, nil
	})
}

func drawBits(s *screen, title string, groups []group) {
	s.table([]string{title, "BIT", "MASK", "PRESETS", "SPANS"}, mapped(groups, func(g group) []string {
		return []string{g.Name, strconv.Itoa(g.Bit), g.Mask, list(g.Presets, ""), g.Doc}
	}))
}

func (p *program) presets() *cobra.Command {
	cmd := &cobra.Command{Use: "presets", Short: "Show the presets of a vocabulary, with their groups"}
	return p.offline(cmd, func(c *spangate.Catalog, _ string) (answer, error) {
		presets, rows := []preset{}, [][]string{}
		for p := range c.Presets() {
			row := preset{p.Name, p.Mask.String(), c.Names(p.Mask), p.Doc}
			presets, rows = append(presets, row), append(rows, []string{row.Name, row.Mask, row.Doc, list(row.Groups, "nothing")})
		}
		return answer{value: presets, rest: func() { p.stdout.table([]string{"PRESET", "MASK", "CHOOSE IT FOR", "GROUPS"}, rows) }}, nil
	})
}

func (p *program) explain() *cobra.Command {
	cmd := p.offline(&cobra.Command{
		Use:   "explain SPEC",
		Short: "Explain a spec: what each entry does, what is on, what becomes of traces",
		Long: `Explain says what each entry of SPEC does, what is on, and what becomes of traces in Go
processes and in those of NeMo Gym, which are Python.

A Python process reads a spec in another way. nemo-lens (b85578f) rejects one with an
exclusion or with a name that it doesn't know, and that process emits no spans; its newer
registry keeps such an entry pending, and the rest of the spec is on. For a spec with an
exclusion, explain shows a list of the same groups to give Python instead.

With --url, explain says what SPEC means in a running process, in the groups and presets that
are registered there. A name that is not is pending. See also spangate set --dry-run.`,
		Example: `  spangate explain default,sandbox
  spangate explain all,-step,-optimizer
  spangate explain --catalog lens per_step --json
  spangate explain default,sql --url http://localhost:8080/spans/`,
	}, func(c *spangate.Catalog, text string) (answer, error) {
		e, err := explain(c, text)
		if err != nil {
			return answer{}, err
		}
		return e.answer(p.stdout, "mask", fmt.Sprintf("%s, %d of the %d groups of %s", e.Mask, len(e.Groups.([]group)), c.All().Count(), e.Namespace), func() {
			drawBits(p.stdout, "ON", e.Groups.([]group))
			p.stdout.table([]string{"IN", "TRACES"}, [][]string{{"Go", e.Traces.Go.Note}, {"Python", e.Traces.Python.Note}})
		}), nil
	})
	offline := *cmd
	online := *p.reading(cmd, func(r *remote, state *client.State, text string) (answer, error) {
		entries, groups, err := newVocabulary("", state.Groups, state.Presets).parse(text, true)
		if err != nil {
			return answer{}, err
		}
		e := &explanation{Spec: text, Canonical: canonical(groups), Groups: groups, Entries: entries}
		return e.answer(p.stdout, "selects", fmt.Sprintf("%d of the %d groups of the process", len(groups), len(state.Groups)), func() {
			drawGroups(p.stdout, groups, state.Leases)
		}), nil
	})
	mode := func(cmd *cobra.Command) *cobra.Command {
		if cmd.Flags().Changed("url") {
			return &online
		}
		return &offline
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return mode(cmd).RunE(cmd, args) }
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return mode(cmd).ValidArgsFunction(cmd, args, toComplete)
	}
	cmd.Flags().Lookup("url").Usage = "explain SPEC in the process with its endpoint at `URL`; may be repeated, or @FILE with a URL on each line"
	cmd.MarkFlagsMutuallyExclusive("catalog", "url")
	return cmd
}

// explanation is what a spec means, as JSON. Fields are only ever added.
type explanation struct {
	Spec      string  `json:"spec"`                // as given
	Namespace string  `json:"namespace,omitempty"` // of the catalog
	Canonical string  `json:"canonical"`           // the spec with the groups alone, in bit order or, in a process, sorted
	Mask      string  `json:"mask,omitempty"`      // in a catalog, in hexadecimal
	Groups    any     `json:"groups"`              // that it selects: []group of a catalog, []wire.Group of a process
	Entries   []entry `json:"entries"`             // that are not empty, in the order of the spec
	Traces    *traces `json:"traces,omitempty"`    // with just these groups of a catalog on
}

// explain returns what text means in c. The error is a [*spangate.ParseError].
func explain(c *spangate.Catalog, text string) (*explanation, error) {
	entries, selected, err := catalogVocabulary(c).parse(text, false)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		m, _ := c.Lookup(entries[i].Name)
		entries[i].Mask = m.String()
	}
	mask, err := c.Parse(canonical(selected))
	return &explanation{
		Spec: text, Namespace: c.Namespace(), Canonical: canonical(selected), Mask: mask.String(), Groups: groupsOf(c, mask),
		Entries: entries, Traces: &traces{Go: goTraces(mask), Python: pythonTraces(c, text, mask)},
	}, err
}

// answer returns e as an answer. what and howMany are the name and value of the field about the groups
// that e selects, and drawGroups shows them.
func (e *explanation) answer(s *screen, what, howMany string, drawGroups func()) answer {
	fields := []string{"spec", orQuoted(escape(e.Spec)), "means", orQuoted(escape(e.Canonical)), what, howMany, "pending", warning(pendingOf(e.Entries), ", not registered yet")}
	return answer{value: e, fields: fields, rest: func() {
		var rows [][]string
		for _, entry := range e.Entries {
			sign, name, changes := "+ ", escape(entry.Name), "nothing: it is on already"
			if entry.Exclude {
				sign, name, changes = "- ", "-"+name, "nothing: it is off anyway"
			}
			switch {
			case entry.Kind == kindPending:
				changes = "nothing until a library registers it" + onlyIf(entry.Suggestion != "", "; did you mean "+short(entry.Suggestion)+"?")
			case len(entry.Changes) > 0:
				changes = sign + list(entry.Changes, "")
			}
			rows = append(rows, []string{name, entry.Kind, changes})
		}
		s.table([]string{"ENTRY", "IS A", "CHANGES"}, rows)
		drawGroups()
	}}
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
