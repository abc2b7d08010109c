// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/share"
	"github.com/spangate/spangate/internal/spec"
)

// The length in bytes of the longest Match, and of the longest spec of a detail: it travels with
// requests, percent-encoded as in a URL, so that a comma has three bytes.
const (
	MaxMatchLen      = 1024
	MaxDetailSpecLen = 160
)

// travels reports whether text is short enough for the spec of a detail.
func travels(text string) bool {
	return len(text) <= MaxDetailSpecLen && len(url.PathEscape(text)) <= MaxDetailSpecLen
}

// detail reports whether r acts on chosen traces.
func (r *LeaseRequest) detail() bool { return r.Share != 0 || r.Match != "" }

// scope says what r acts on, if that is not everything.
func (r *LeaseRequest) scope() string {
	switch {
	case r.Share != 0:
		return " on " + share.Format(r.Share) + " of traces"
	case r.Match != "":
		return " on traces with " + r.Match
	case r.Revoke != "":
		return " that revokes override " + r.Revoke
	}
	return ""
}

// checkDetail returns an error if Share, Match or Revoke of r is refused, or does not go with the
// other fields.
func checkDetail(r LeaseRequest) error {
	bad := func(op, input, format string, args ...any) error {
		return &Error{Op: op, Input: input, Err: because(ErrDetail, format, args...)}
	}
	op, what := "match", r.Match
	if r.Share != 0 {
		op, what = "share", strconv.FormatFloat(r.Share, 'g', -1, 64)
	}
	switch {
	case r.Revoke != "" && (r.detail() || nonBlank(r.Spec+r.Quiet) != ""):
		return bad("revoke", r.Revoke, "a lease that revokes does nothing else; request two leases")
	case r.Revoke != "" && !spec.IsID(r.Revoke):
		return bad("revoke", r.Revoke, "an id has 1 to %d letters, digits, '_' and '-'; the spans' attribute spangate.override has it", spec.MaxIDLen)
	case !r.detail():
		return nil
	case r.Share != 0 && r.Match != "":
		return bad(op, what, "it excludes match; request two leases")
	case r.Share != 0 && share.Check(r.Share) != nil:
		return bad(op, what, "%w", share.Check(r.Share))
	case nonBlank(r.Quiet) != "":
		return bad(op, what, "it excludes quiet: chosen traces have more on than others, and nothing less")
	case !travels(r.Spec):
		return bad(op, what, "its spec travels with requests and is too long for that: at most %d bytes, percent-encoded; name a preset, or request several leases", MaxDetailSpecLen)
	case r.Match == "":
		return nil
	}
	if _, problem := parseMatch(r.Match); problem != "" {
		return bad(op, what, "%s; write it as in customer=42,tier=gold", problem)
	}
	return nil
}

// condition is a field and the value that it must have.
type condition struct{ field, value string }

// parseMatch returns the conditions in text, or what is wrong with it.
func parseMatch(text string) (conditions []condition, problem string) {
	if err := spec.CheckLine(text, MaxMatchLen); err != nil {
		return nil, err.Error()
	}
	for entry := range strings.SplitSeq(text, ",") {
		field, value, _ := strings.Cut(entry, "=")
		field, value = strings.TrimSpace(field), strings.TrimSpace(value)
		if field == "" || value == "" {
			return nil, strconv.Quote(spec.Head(entry)) + " is no field and value"
		}
		if slices.ContainsFunc(conditions, func(c condition) bool { return c.field == field && c.value != value }) {
			return nil, strconv.Quote(spec.Head(entry)) + " contradicts another value of the field, so no request matches"
		}
		conditions = append(conditions, condition{field, value})
	}
	return conditions, ""
}

// words are groups, as the masks of their gates.
type words map[*spangate.Gate]spangate.Mask

// reachable reports whether the limits let an override turn on a group of w.
func (w words) reachable() bool {
	for gate, word := range w {
		if gate.Reach()&word != 0 {
			return true
		}
	}
	return false
}

// or returns the groups of w and more.
func (w words) or(more words) words {
	union := maps.Clone(w)
	for gate, word := range more {
		union[gate] |= word
	}
	return union
}

// detail is a lease with Share or Match.
type detail struct {
	*lease
	conditions []condition
	words      words
}

// choice is what the details that choose a trace give it together.
type choice struct {
	id, spec string // of the last detail; of all
	words    words  // at least what spec selects
	end      time.Time
}

// rules are the details of a view. They are immutable.
type rules struct {
	byID    map[string]*detail
	matches map[string]map[string][]*detail // by the field and value of their first condition
	shares  []*detail                       // with Share, the largest first
	levels  []level                         // by threshold
}

// level is the choice for traces whose randomness is at least threshold, and below that of the next
// level.
type level struct {
	threshold uint64
	choice
}

// newRules returns the rules of the leases, resolved in g.
func newRules(g plan.Generation, in intent) *rules {
	r := &rules{byID: make(map[string]*detail), matches: make(map[string]map[string][]*detail)}
	if len(in.details) == 0 {
		return r
	}
	selected := make(map[string]words) // by spec
	for text := range in.details {
		selected[text] = g.Words(text)
	}
	for _, l := range in.leases {
		if !l.detail() {
			continue
		}
		d := &detail{lease: l, words: selected[l.Spec]}
		r.byID[l.id] = d
		if l.Share != 0 {
			r.shares = append(r.shares, d)
			continue
		}
		d.conditions, _ = parseMatch(l.Match)
		first := d.conditions[0]
		if r.matches[first.field] == nil {
			r.matches[first.field] = make(map[string][]*detail)
		}
		r.matches[first.field][first.value] = append(r.matches[first.field][first.value], d)
	}
	slices.SortStableFunc(r.shares, func(a, b *detail) int { return cmp.Compare(b.Share, a.Share) })
	var c choice
	for _, d := range r.shares {
		next, changed := c.with(g, d)
		if !changed {
			continue
		}
		c = next
		t := uint64(share.ThresholdOf(d.Share))
		if n := len(r.levels); n > 0 && r.levels[n-1].threshold == t {
			r.levels = r.levels[:n-1]
		}
		r.levels = append(r.levels, level{t, c})
	}
	return r
}

// level returns the choice for a trace of this randomness; that of none is zero.
func (r *rules) level(randomness uint64) choice {
	i, found := slices.BinarySearchFunc(r.levels, randomness, func(l level, t uint64) int { return cmp.Compare(l.threshold, t) })
	switch {
	case found:
		return r.levels[i].choice
	case i == 0:
		return choice{}
	}
	return r.levels[i-1].choice
}

// chosenBy returns the details with Share that choose a trace of this randomness.
func (r *rules) chosenBy(randomness uint64) []*detail {
	n, _ := slices.BinarySearchFunc(r.shares, randomness, func(d *detail, t uint64) int {
		if share.ThresholdOf(d.Share).Has(t) {
			return -1
		}
		return 1
	})
	return r.shares[:n]
}

// of returns what those of details turn on that are still leased and that in does not revoke.
func (r *rules) of(details []*detail, in intent) words {
	union := words{}
	for _, d := range details {
		if now := r.byID[d.id]; now != nil && !in.revokes(d.id) {
			for gate, word := range now.words {
				union[gate] |= word
			}
		}
	}
	return union
}

// with returns c and what d gives too, and whether that is more. The spec of the two is their
// names together; or, if an exclusion of one would take a group from the other, the groups of both.
// If it is too long to travel, other processes get the spec of c.
func (c choice) with(g plan.Generation, d *detail) (choice, bool) {
	if c.id == "" {
		return choice{d.id, d.Spec, d.words, d.end}, true
	}
	union, text := c.words.or(d.words), c.spec+","+d.Spec
	if strings.Contains(","+c.spec+",", ","+d.Spec+",") {
		text = c.spec
	}
	if travels(text) && !maps.Equal(words(g.Words(text)), union) {
		a, _ := g.Resolve(c.spec)
		b, _ := g.Resolve(d.Spec)
		text = strings.Join(sorted(append(a, b...)), ",")
	}
	if !travels(text) {
		text = c.spec
	}
	if text == c.spec && maps.Equal(union, c.words) {
		return c, false
	}
	return choice{d.id, text, union, earlier(c.end, d.end)}, true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
