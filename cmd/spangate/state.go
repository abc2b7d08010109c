// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

func (p *program) get() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get [NAME]",
		Short: "Show what is on, and why; or one group, preset or lease",
		Long: `Get shows what is on in a process, and why; with NAME only what concerns a group, a preset or
the id of a lease.

Last change is the latest change of any kind. Root off has the groups that are off and begin
traces: spans beneath are roots of their own, or are not started by a library that starts spans
only beneath others. Overrides counts what is on for chosen traces alone, as of spangate detail,
since the start of the process: cut is what its limits kept off, refused what came from other
processes and was not admitted.`,
		Example: `  spangate get --on
  spangate get sandbox
  spangate get sandbox --url @processes.txt`,
	}
	on := cmd.Flags().Bool("on", false, "show only the groups that are on, and what has to do with them")
	return p.reading(cmd, func(r *remote, state *client.State, name string) (answer, error) {
		a := answer{value: state.JSON, fields: r.summary(state), rest: func() {
			if len(state.Groups) == 0 {
				r.stdout.printf("\nNo library has registered a group.\n")
			}
			drawLists(r.stdout, state)
		}}
		switch {
		case *on && name != "":
			return answer{}, usagef("--on shows all groups that are on, and %q is one name", name)
		case !*on && name == "":
			return a, nil
		}
		if err := narrow(&state.State, name); err != nil {
			return answer{}, fmt.Errorf("%s %w", r.URL(), err)
		}
		owners := ownersOf(state.Leases)
		lines := mapped(state.Groups, func(g wire.Group) string { return joined(" ", g.Name, onOff[g.On], because(g, owners)) })
		a.value, a.line, a.rest = state.State, list(lines, "nothing"), func() {
			drawLists(r.stdout, state)
			drawScopes(r.stdout, state)
		}
		if name != "" {
			a.fields = nil
		}
		return a, nil
	})
}

// narrow keeps in a state only what concerns name, which is a group, a preset or the id of a lease: the
// groups of that name, and the presets, leases and scopes with one of these groups, but not the preset all.
// If name is empty, the groups are those that are on.
func narrow(s *wire.State, name string) error {
	about, known, folded := make(map[string]bool), name == "", spec.Lower(name)
	add := func(found bool, groups ...string) {
		known = known || found
		for _, g := range groups {
			about[g] = about[g] || found
		}
	}
	for _, g := range s.Groups {
		add(g.Name == folded || name == "" && g.On, g.Name)
	}
	for _, p := range s.Presets {
		add(p.Name == folded, p.Groups...)
	}
	for _, l := range s.Leases {
		add(l.ID == name, slices.Concat(l.Groups, l.Quieted)...)
	}
	if !known {
		near := spec.Nearest(name, newVocabulary("", s.Groups, s.Presets).names)
		return usagef("has no group, preset or lease %q%s", spec.Head(name), onlyIf(near != "", "; did you mean "+near+"?"))
	}
	none := func(names []string) bool { return !slices.ContainsFunc(names, func(n string) bool { return about[n] }) }
	s.Groups = slices.DeleteFunc(s.Groups, func(g wire.Group) bool { return !about[g.Name] })
	s.Presets = slices.DeleteFunc(s.Presets, func(p wire.Preset) bool { return p.Name != folded && (p.Name == spangate.NameAll || none(p.Groups)) })
	s.Leases = slices.DeleteFunc(s.Leases, func(l wire.Lease) bool { return l.ID != name && none(l.Groups) && none(l.Quieted) })
	s.Scopes = slices.DeleteFunc(s.Scopes, func(scope wire.Scope) bool {
		return !slices.ContainsFunc(scope.Sites, func(site wire.Site) bool { return !none(site.Groups) })
	})
	s.Unmatched = []wire.UnmatchedRule{}
	return nil
}

func (p *program) set() *cobra.Command {
	var flags wire.Baseline
	cmd := &cobra.Command{
		Use:   "set SPEC",
		Short: "Set the baseline, until the next one",
		Long: `Set makes SPEC the baseline: what is on besides leases, until another one is set or
the process ends. A lease ends by itself; see spangate lease.

A name that is not registered in the process is an error and changes nothing, unless
--allow-pending keeps it until it is.`,
		Example: `  spangate set default,sandbox --dry-run
  spangate set default,sandbox --why "the slow verifier"
  spangate set "" --if-match kq3v7d2a-12`,
	}
	reasonFlags(cmd, "who", "who asks (default: you); a name that the authoriser gives replaces it", &flags.Who, &flags.Why)
	pendingFlag(cmd, &flags.AllowPending)
	return p.remote(cmd, changes|dryRuns|several, func(r *remote, arg string) (answer, error) {
		b := flags
		b.Spec, b.Who = arg, orUser(b.Who)
		if r.dryRun {
			return r.predict(cmd.Name(), arg, wire.LeaseRequest{Owner: b.Who, Why: b.Why, AllowPending: b.AllowPending})
		}
		return r.changed(r.SetBaseline(r.ctx, b, r.condition))
	})
}

func (p *program) reset() *cobra.Command {
	cmd := &cobra.Command{Use: "reset", Short: "Go back to the start-up baseline; leases stay"}
	return p.remote(cmd, changes|several, func(r *remote, _ string) (answer, error) {
		return r.changed(r.ResetBaseline(r.ctx, r.condition))
	})
}

// changed returns the answer for a change of the baseline.
func (r *remote) changed(state *client.State, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	fields := append(r.summary(state), "leases", list(mapped(state.Leases, described), ""))
	return answer{value: state.JSON, fields: fields}, nil
}

// summary returns the fields that show a state, without its lists, and the change that led to it.
func (r *remote) summary(state *client.State) []string {
	lastChange, file := "", ""
	if len(state.Changes) > 0 && state.Changes[0].Generation == state.Generation {
		c := state.Changes[0]
		lastChange = label(c.Kind) + ": " + cmp.Or(difference(c), "no group went on or off")
	}
	if f := state.File; f != nil && f.Problem != "" {
		file = amber.Render(short(f.Path)+" can't be used, so the last baseline stays") + ": " + short(f.Problem)
	}
	var misspelt []string
	for _, u := range state.Unmatched {
		if u.Nearest != "" {
			misspelt = append(misspelt, u.Rule+" (matches no scope; did you mean "+u.Nearest+"?)")
		}
	}
	var withheld []string
	for _, g := range state.Groups {
		if g.Withheld && g.Baseline {
			withheld = append(withheld, g.Name)
		}
	}
	return []string{
		"process", r.URL(), "generation", short(state.Generation), "baseline", baseline(state.Baseline), "file", file, "last change", lastChange,
		"start-up", onlyIf(state.Startup.Spec != state.Spec, baseline(state.Startup)), "pinned", pinned(state),
		"on", list(state.Enabled, "nothing"),
		"root off", onlyIf(len(state.Enabled) > 0, warning(state.Roots, "; spans beneath are roots of their own, or are not started")),
		"withheld", list(withheld, ""), "denied", short(state.Deny), "ceiling", short(state.Ceiling),
		"pending", newVocabulary("", state.Groups, state.Presets).pending(state.Pending), "rules", warning(misspelt, ""),
		"overrides", overrides(state.Overrides), "changes", readOnly(state),
	}
}

// overrides says what overrides did, or "" if there was none.
func overrides(o wire.Overrides) string {
	counts := func(counts []wire.Count) []string {
		return mapped(counts, func(c wire.Count) string { return c.Reason + " " + c.Count })
	}
	none := func(count string) bool { return count == "" || count == "0" }
	if o.Live == 0 && none(o.Chosen) && none(o.Received) && none(o.Started) && none(o.Sampled) && len(o.Cut) == 0 && len(o.Refused) == 0 {
		return ""
	}
	return joined("; ", fmt.Sprintf("%d live, %s chosen here, %s received, %s spans started", o.Live, label(o.Chosen), label(o.Received), label(o.Started)),
		onlyIf(!none(o.Sampled), label(o.Sampled)+" sampled"),
		onlyIf(len(o.Cut) > 0, "cut: "+warning(counts(o.Cut), "")), onlyIf(len(o.Refused) > 0, "refused: "+warning(counts(o.Refused), "")))
}

// pinned says that the program has pinned what is on, if it has.
func pinned(state *client.State) string {
	return onlyIf(state.Pinned, amber.Render("the program has pinned what is on; baseline, leases and limits have no effect"))
}

// readOnly says that a process takes no changes, if it takes none.
func readOnly(state *client.State) string {
	return onlyIf(!state.Writable, "none: the process has given the endpoint no authoriser, by setup.Token or control.Authorize")
}

// drawLists shows the groups, presets and leases of a state.
func drawLists(s *screen, state *client.State) {
	drawGroups(s, state.Groups, state.Leases)
	s.table([]string{"PRESET", "IS", "GROUPS"}, mapped(state.Presets, func(p wire.Preset) []string {
		return []string{label(p.Name), label(p.State), list(p.Groups, "nothing")}
	}))
	drawLeases(s, state.Leases)
}

// drawGroups shows groups, with their spans if the process counts them.
func drawGroups(s *screen, groups []wire.Group, leases []wire.Lease) {
	owners := ownersOf(leases)
	s.table([]string{"GROUP", "IS", "BECAUSE OF", "STARTED", rateHeader, "NAMESPACE", "SPANS"}, mapped(groups, func(g wire.Group) []string {
		started, perSecond, _ := counts(g.Spans)
		namespaces := mapped(g.Members, func(m wire.Member) string { return m.Namespace })
		return []string{label(g.Name), shown[g.On], because(g, owners), started, perSecond, list(namespaces, ""), docOf(g)}
	}))
}

// onOff has the words for a group that is on or off, and shown as a terminal shows them.
var (
	onOff = map[bool]string{true: "on", false: "off"}
	shown = map[bool]string{true: green.Render("on"), false: faint.Render("off")}
)

// rateHeader is the header of the column with [wire.Spans].PerSecond.
const rateHeader = "A SECOND (LAST MINUTE)"

// counts returns how many spans were started, how many a second, and how many were not started because
// their group was off. What is not counted is empty.
func counts(s *wire.Spans) (started, perSecond, withheld string) {
	if s == nil {
		return "", "", ""
	}
	return label(s.Started), rate(s.PerSecond), label(s.Withheld)
}

func rate(perSecond float64) string {
	if math.Abs(perSecond) > 1e9 {
		return fmt.Sprintf("%.1e", perSecond)
	}
	return fmt.Sprintf("%.1f", perSecond)
}

// because says what turns a group on, and what keeps it off.
func because(g wire.Group, owners map[string]string) string {
	on := []string{onlyIf(g.Baseline, "baseline"), leasesOf("lease", g.Leases, owners), leasesOf("detail", g.Details, owners)}
	return joined("; ", joined(", ", on...), onlyIf(len(g.Quiet) > 0, "quieted by "+leasesOf("lease", g.Quiet, owners)),
		onlyIf(g.Withheld, "withheld"), onlyIf(g.Overridden, "set on the registry itself"))
}

// leasesOf lists the owners of the leases with these ids, which are of a kind: a few, and how many more
// there are.
func leasesOf(kind string, ids []string, owners map[string]string) string {
	return strings.Join(first(3, ids, func(id string) string { return kind + " of " + owners[id] }), ", ")
}

// ownersOf returns the owners of leases, by id, fit for a terminal.
func ownersOf(leases []wire.Lease) map[string]string {
	owners := make(map[string]string)
	for _, l := range leases {
		owners[l.ID] = label(l.Owner)
	}
	return owners
}

// baseline says what a baseline is, whose, and why.
func baseline(b wire.Baseline) string {
	return orQuoted(short(b.Spec)) + onlyIf(b.Who != "", " by "+short(b.Who)) + onlyIf(b.Why != "", ": "+short(b.Why))
}

// orQuoted returns text, or two quotes if it is empty.
func orQuoted(text string) string { return cmp.Or(text, `""`) }

// difference says what a change has turned on and off.
func difference(c wire.Change) string {
	return strings.Join(append(signed(green, "+", c.New, c.Old), signed(red, "-", c.Old, c.New)...), " ")
}

// signed returns the names that are not in without, which is sorted, with a sign before each.
func signed(style lipgloss.Style, sign string, names, without []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, found := slices.BinarySearch(without, name)
		return found
	})
	return first(maxListed, names, func(name string) string { return style.Render(sign + short(name)) })
}
