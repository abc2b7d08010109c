// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
)

func (p *program) explain() *cobra.Command {
	var c catalog
	var asJSON bool
	cmd := &cobra.Command{
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
		Args: oneSpec,
		RunE: func(_ *cobra.Command, args []string) error {
			e, err := c.explain(args[0])
			switch {
			case err != nil:
				return offline(err)
			case asJSON:
				p.out.json(e)
			default:
				e.draw(p.out, &c)
			}
			return nil
		},
	}
	c.flag(cmd)
	cmd.ValidArgsFunction = completeSpec(func(*cobra.Command) []name { return c.completions() })
	jsonFlag(cmd.Flags(), &asJSON, "the explanation")
	return cmd
}

// draw shows e to people.
func (e *explanation) draw(s *screen, c *catalog) {
	s.table(nil, [][]string{
		{"spec", orQuoted(caret.Shown(e.Spec))},
		{"means", orQuoted(e.Canonical)},
		{"mask", fmt.Sprintf("%s, %d of the %s of %s", e.Mask, len(e.Groups), plural(c.All().Count(), "group"), e.Namespace)},
	})
	if len(e.Entries) > 0 {
		rows := [][]string{}
		for _, entry := range e.Entries {
			rows = append(rows, []string{entry.written(), entry.Kind, entry.effect()})
		}
		s.printf("\n")
		s.table([]string{"ENTRY", "IS A", "CHANGES"}, rows)
	}
	if len(e.Groups) > 0 {
		rows := [][]string{}
		for _, g := range e.Groups {
			rows = append(rows, []string{g.Name, strconv.Itoa(g.Bit), g.Mask, g.Doc})
		}
		s.printf("\n")
		s.table([]string{"ON", "BIT", "MASK", "SPANS"}, rows)
	}
	s.printf("\n")
	s.table([]string{"TRACES", ""}, [][]string{
		{"Go", e.Traces.Go.Note},
		{"Python", e.Traces.Python.Note},
	})
}

func (e entry) written() string {
	if e.Exclude {
		return "-" + caret.Shown(e.Name)
	}
	return caret.Shown(e.Name)
}

// effect says what the entry changes.
func (e entry) effect() string {
	switch {
	case len(e.Changes) > 0 && e.Exclude:
		return "- " + strings.Join(e.Changes, ", ")
	case len(e.Changes) > 0:
		return "+ " + strings.Join(e.Changes, ", ")
	case e.Exclude:
		return "nothing: it is off anyway"
	}
	return "nothing: it is on already"
}

// orQuoted returns text, or for an empty one the quotes that show it.
func orQuoted(text string) string {
	if text == "" {
		return `""`
	}
	return text
}
