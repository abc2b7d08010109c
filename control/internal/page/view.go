// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// Bounds on lists that can have thousands of elements.
const (
	maxLeases  = 100 // in the list of leases
	maxReasons = 4   // leases named with a group; scopes and rules in one list
	maxPending = 64  // names in one list that are not registered
	maxNamed   = 8   // groups named with one cause
	maxScopes  = 256 // in the list of scopes
)

// view is the data of the template.
type view struct {
	wire.State
	Tag      string
	First    []wire.Lease        // the leases that are listed, which are the first to end
	More     int                 // the number of the others
	Causes   map[string][]string // the groups that are on, or kept off, by what decides: see cause
	Listed   []wire.Scope        // the scopes that are listed
	Unlisted int                 // the number of the others
	Busiest  float64             // the most spans a second of a group that is on

	Asked     string   // the pending names, with the nearest that are registered
	Misspelt  string   // the rules that match no scope and are near one
	Ungrouped []string // the scopes that have started spans in no group
	Details   string   // the details that add the groups of cause "traces"

	longest time.Duration
	index   map[string]int // by ID of a lease: its index in Leases
	until   map[string]int // by name of a group that a lease keeps on or quiet: the index of the last such lease to end
	left    func(lease int) time.Duration
}

func newView(s wire.State) view {
	s.Groups = slices.Clone(s.Groups)
	sort.SliceStable(s.Groups, func(i, j int) bool { return s.Groups[i].On && !s.Groups[j].On })
	leases, scopes := min(len(s.Leases), maxLeases), min(len(s.Scopes), maxScopes)
	v := view{
		State: s, First: s.Leases[:leases], More: len(s.Leases) - leases, Listed: s.Scopes[:scopes], Unlisted: len(s.Scopes) - scopes,
		Causes: map[string][]string{"baseline": nil}, index: make(map[string]int, len(s.Leases)), until: map[string]int{},
	}
	if s.Deny != "" || s.Ceiling != "" {
		v.Causes["limits"] = nil
	}
	for i, l := range s.Leases {
		v.index[l.ID] = i
	}
	for _, g := range s.Groups {
		if kind, leases := cause(g, s.Pinned); kind != "" {
			v.Causes[kind] = append(v.Causes[kind], g.Name)
			for _, id := range leases { // sorted by end
				v.until[g.Name] = v.index[id]
			}
		}
		if g.On && g.Spans != nil {
			v.Busiest = max(v.Busiest, g.Spans.PerSecond)
		}
	}
	var details []string
	for _, l := range s.Leases {
		if isDetail(l) && len(l.Groups) > len(missing(v.Causes["traces"], l.Groups)) {
			details = append(details, l.Owner+" for "+traces(l))
		}
	}
	v.Details = list(details, maxReasons)
	v.describe()
	v.longest, _ = time.ParseDuration(s.MaxTTL) // without one, nothing is offered
	return v
}

// describe finds names that may be misspelt, and spans in no group.
func (v *view) describe() {
	var known, misspelt []string
	for _, p := range v.Presets {
		known = append(known, p.Name)
	}
	for _, g := range v.Groups {
		known = append(known, g.Name)
	}
	asked := slices.Clone(v.Pending)
	for i, name := range asked[:min(len(asked), maxPending)] {
		asked[i] = didYouMean(name, spec.Nearest(name, known))
	}
	for _, u := range v.Unmatched {
		if u.Nearest != "" {
			misspelt = append(misspelt, didYouMean(u.Rule, u.Nearest))
		}
	}
	v.Asked, v.Misspelt = list(asked, maxPending), list(misspelt, maxReasons)
	for _, s := range v.Scopes {
		if slices.ContainsFunc(s.Sites, func(site wire.Site) bool { return len(site.Groups) == 0 && site.Spans.Started != "0" }) {
			v.Ungrouped = append(v.Ungrouped, s.Name)
		}
	}
}

// didYouMean returns name with near, if it is not empty, as what may have been meant.
func didYouMean(name, near string) string {
	if near == "" {
		return name
	}
	return name + " (did you mean " + near + "?)"
}

// cause returns what decides that a group is on, for all traces or for chosen ones, or keeps it off, and
// the leases that do; "" if the program has set a spec or pin on the registry itself, which keeps a group of the baseline off.
func cause(g wire.Group, pinned bool) (kind string, leases []string) {
	switch {
	case g.On && g.Overridden:
		return "registry", nil
	case g.On && g.Baseline && len(g.Quiet) == 0:
		return "baseline", nil
	case g.On:
		return "leases", g.Leases
	case g.Withheld:
		return "limits", nil
	case len(g.Details) > 0 && !pinned: // the gates of a pinned set take no overrides
		return "traces", g.Details
	case g.Baseline && len(g.Quiet) > 0:
		return "quiet", g.Quiet
	case !g.Baseline:
		return "unselected", nil
	}
	return "", nil
}

// Names joins the names of groups, each with how long its lease still has.
func (v view) Names(groups []string) string {
	groups = slices.Clone(groups)
	for i, name := range groups {
		if lease, leased := v.until[name]; leased {
			groups[i] = name + " " + v.Left(lease)
		}
	}
	return list(groups, maxNamed)
}

// Owners joins the owners of the leases that keep the groups on or quiet.
func (v view) Owners(groups []string) string {
	var owners []string
	for _, name := range groups {
		lease, leased := v.until[name]
		if leased && !slices.Contains(owners, v.Leases[lease].Owner) {
			owners = append(owners, v.Leases[lease].Owner)
		}
	}
	return list(owners, maxReasons)
}

// Left returns how long v.Leases[lease] still has.
func (v view) Left(lease int) string { return clock(v.left(lease)) }

// offer is buttons that send one request, each with a time to live of its own.
type offer struct {
	Verb, Name, Preposition string
	Send, Body              string
	Times                   []choice
}

// choice is a button for so many minutes.
type choice struct {
	Minutes int
	TTL     time.Duration
}

// choices returns buttons for those minutes that, added to what a lease still has left, are within MaxTTL.
func (v view) choices(left time.Duration, minutes ...int) (times []choice) {
	for _, m := range minutes {
		if ttl := left + time.Duration(m)*time.Minute; ttl <= v.longest {
			times = append(times, choice{m, ttl})
		}
	}
	return times
}

// Offer returns the buttons that lease a group or preset, or quiet a group: field is spec or quiet.
func (v view) Offer(verb, field, name string) offer {
	return offer{verb, name, "for", "POST leases", field + "=" + name, v.choices(0, 1, 5, 30)}
}

// Extension returns the buttons that extend v.Leases[lease], whose accessible name is given.
func (v view) Extension(lease int, name string) offer {
	return offer{"Extend", name, "by", "PATCH leases/" + v.Leases[lease].ID, "", v.choices(v.left(lease).Round(time.Second), 5, 30)}
}

// TTL returns the time to live that the form starts with.
func (v view) TTL() string {
	if v.longest < 10*time.Minute {
		return v.longest.String()
	}
	return "10m"
}

// Because returns the reasons why a group is on or off.
func (v view) Because(g wire.Group) []string {
	var why []string
	if g.Baseline {
		why = append(why, "baseline")
	}
	why = append(why, v.leases(g.Quiet, "quieted by lease of", "quieted by ")...)
	why = append(why, v.leases(g.Leases, "lease of", "")...)
	why = append(why, v.leases(g.Details, "detail of", "")...)
	switch {
	case g.Overridden:
		why = append(why, "set on the registry itself")
	case g.Withheld && v.Ceiling == "":
		why = append(why, "kept off by the deny list")
	case g.Withheld && v.Deny == "":
		why = append(why, "kept off by the ceiling")
	case g.Withheld:
		why = append(why, "kept off by the deny list or the ceiling")
	}
	return why
}

// leases returns a reason, beginning with prefix, for each of the first maxReasons leases, and one for the
// number of the others, beginning with morePrefix.
func (v view) leases(ids []string, prefix, morePrefix string) []string {
	var why []string
	for i, id := range ids {
		if i == maxReasons {
			return append(why, fmt.Sprintf("%s%d more leases", morePrefix, len(ids)-i))
		}
		lease := v.index[id]
		why = append(why, fmt.Sprintf("%s %s, %s", prefix, v.Leases[lease].Owner, v.Left(lease)))
	}
	return why
}

var funcs = template.FuncMap{
	"time":    func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	"minute":  func(t time.Time) string { return t.UTC().Format("15:04 UTC") },
	"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"join":    func(names []string) string { return strings.Join(names, ", ") },
	"pending": func(names []string) string { return list(names, maxPending) },
	"few":     func(names []string) string { return list(names, maxReasons) },
	"missing": missing,
	"does":    does,
	"rate":    rate,
	"tally":   tally,
}

// does returns what a lease does.
func does(l wire.Lease) string {
	switch {
	case l.Revoke != "":
		return "revoke " + l.Revoke
	case isDetail(l):
		return l.Spec + " for " + traces(l)
	case l.Quiet == "":
		return cmp.Or(l.Spec, "nothing")
	case l.Spec == "":
		return "quiet " + l.Quiet
	}
	return l.Spec + " · quiet " + l.Quiet
}

// isDetail reports whether a lease acts on chosen traces only.
func isDetail(l wire.Lease) bool { return l.Share != "" || l.Match != "" }

// traces returns which traces a detail acts on.
func traces(l wire.Lease) string {
	if l.Share != "" {
		return l.Share + " of traces"
	}
	return "traces with " + l.Match
}

// Overridden reports whether there has been an override.
func (v view) Overridden() bool {
	o := v.Overrides
	return o.Live > 0 || strings.Trim(o.Chosen+o.Received+o.Started+o.Sampled, "0") != "" || len(o.Cut)+len(o.Refused) > 0
}

// tally joins counts, each with its reason.
func tally(counts []wire.Count) string {
	texts := make([]string, len(counts))
	for i, c := range counts {
		texts[i] = c.Reason + " " + c.Count
	}
	return strings.Join(texts, ", ")
}

// rate formats spans a second: a number below ten has one decimal.
func rate(perSecond float64) string {
	if perSecond < 9.95 && perSecond > 0 {
		return fmt.Sprintf("%.1f/s", max(perSecond, 0.1))
	}
	return fmt.Sprintf("%.0f/s", perSecond)
}

// list joins at most limit names, and counts the others.
func list(names []string, limit int) string {
	if more := len(names) - limit; more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:limit], ", "), more)
	}
	return strings.Join(names, ", ")
}

// clock formats a duration as 4:05 or 1:04:05, rounded up: 0:00 means none is left.
func clock(d time.Duration) string {
	s := max(0, int((d+time.Second-1)/time.Second))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// missing returns the names in after that are not in before, which is sorted.
func missing(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(name string) bool { _, found := slices.BinarySearch(before, name); return found })
}
