// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangate/spangate/otelgate"
	"github.com/spangate/spangate/otelsdk/gym"
)

// Span has the fields of a span that the trees and counts use.
type Span struct {
	ID       spanID
	Parent   spanID // in a root, its span ID is zero
	Name     string
	Group    string
	Process  string
	Rollout  string // the rollout's ID, or empty
	Override string // the value of otelgate.OverrideKey, or empty
	Start    time.Time
	Took     time.Duration
}

// spanID identifies a span: a span ID is unique within its trace only.
type spanID struct {
	Trace pcommon.TraceID
	Span  pcommon.SpanID
}

func (s Span) root() bool { return s.Parent.Span.IsEmpty() }

// groups has the groups of the program's own spans, by name.
var groups = map[string]string{
	gym.SpanJob:            "job",
	gym.SpanRollout:        "rollout",
	gym.SpanAgentResponses: "agent",
	gym.SpanModelResponses: "model_call",
	gym.SpanVerify:         "verify",
	gym.SpanSandboxExec:    "sandbox",
}

func newSpan(resource pcommon.Resource, s ptrace.Span) Span {
	attribute := func(of pcommon.Map, key string) string {
		if value, ok := of.Get(key); ok {
			return value.AsString()
		}
		return ""
	}
	start := s.StartTimestamp().AsTime()
	span := Span{
		ID:       spanID{s.TraceID(), s.SpanID()},
		Parent:   spanID{s.TraceID(), s.ParentSpanID()},
		Name:     s.Name(),
		Group:    groups[s.Name()],
		Process:  attribute(resource.Attributes(), string(gym.ServerNameKey)),
		Rollout:  attribute(s.Attributes(), string(gym.RolloutIDKey)),
		Override: attribute(s.Attributes(), string(otelgate.OverrideKey)),
		Start:    start,
		Took:     s.EndTimestamp().AsTime().Sub(start),
	}
	switch s.Kind() { // only otelhttp's spans have a kind
	case ptrace.SpanKindServer:
		span.Group = "server"
	case ptrace.SpanKindClient:
		span.Group = "http_client"
	}
	return span
}

// present returns the IDs of spans. A span whose parent is not present is a root or an orphan.
func present(spans []Span) map[spanID]bool {
	ids := make(map[spanID]bool)
	for _, s := range spans {
		ids[s.ID] = true
	}
	return ids
}

var (
	bold       = lipgloss.NewStyle().Bold(true)
	faint      = lipgloss.NewStyle().Faint(true)
	errorStyle = lipgloss.NewStyle().Foreground(lipgloss.Red)

	processStyles = map[string]lipgloss.Style{
		"driver":    lipgloss.NewStyle().Foreground(lipgloss.Yellow),
		"agent":     lipgloss.NewStyle().Foreground(lipgloss.Cyan),
		"model":     lipgloss.NewStyle().Foreground(lipgloss.Magenta),
		"resources": lipgloss.NewStyle().Foreground(lipgloss.Green),
	}
	trailingSpace = regexp.MustCompile(`(?m) +$`)
)

var column = lipgloss.NewStyle().PaddingLeft(2)

// tree draws each trace as a tree of its spans, with the process and the duration of each. It
// returns whole lines, and nothing for no spans.
func (p *printer) tree(spans []Span) string {
	labels, processes, times := p.rows(spans, true)
	return beside(labels, column.Render(processes), column.Align(lipgloss.Right).Render(times))
}

// beside returns the lines of texts side by side, as whole lines.
func beside(texts ...string) string {
	if joined := lipgloss.JoinHorizontal(lipgloss.Top, texts...); strings.TrimSpace(joined) != "" {
		return trailingSpace.ReplaceAllString(joined, "") + "\n"
	}
	return ""
}

// rows draws each trace as a tree of its spans, and returns three columns of as many lines. A label
// has the span's group, its name if names is true, and a star if it has an override.
func (p *printer) rows(spans []Span, names bool) (_, _, _ string) {
	spans = slices.SortedStableFunc(slices.Values(spans), func(a, b Span) int { return a.Start.Compare(b.Start) })
	present := present(spans)
	var labels, processes, times []string // the columns
	row := func(label, process, took string) {
		labels, times = append(labels, label), append(times, took)
		processes = append(processes, processStyles[process].Render(process))
	}
	var draw func(indent string, selects func(Span) bool)
	draw = func(indent string, selects func(Span) bool) {
		siblings := slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return !selects(s) })
		for i, s := range siblings {
			branch, below := p.branch, p.vertical
			if i == len(siblings)-1 {
				branch, below = p.last, "    "
			}
			label := faint.Render(indent+branch) + bold.Render(s.Group)
			if names && s.Name != s.Group {
				label += " " + s.Name
			}
			if s.Override != "" {
				label += " *"
			}
			if !s.root() && !present[s.Parent] {
				label += errorStyle.Render(" (parent missing)")
			}
			row(label, s.Process, fmt.Sprintf("%.2f ms", s.Took.Seconds()*1000))
			draw(indent+below, func(child Span) bool { return child.Parent == s.ID })
		}
	}
	drawn := make(map[pcommon.TraceID]bool)
	for _, s := range spans {
		if id := s.ID.Trace; !drawn[id] {
			drawn[id] = true
			row(faint.Render(fmt.Sprintf("trace %x", id[:4])), "", "")
			draw("", func(top Span) bool { return top.ID.Trace == id && !present[top.Parent] })
		}
	}
	return strings.Join(labels, "\n"), strings.Join(processes, "\n"), strings.Join(times, "\n")
}
