// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/bits-and-blooms/bitset"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// intent selects what is on, in terms that hold for any vocabulary. It is immutable.
type intent interface {
	// resolve adds what is on in v to set, which is empty and over v, and returns the
	// names that mean nothing in v: canonical, sorted, each once, never nil.
	resolve(v *vocabulary, set *bitset.BitSet) (pending []string)
	// wantsNothing reports whether it selects nothing in any vocabulary.
	wantsNothing() bool
	// attr returns it for a record.
	attr() slog.Attr
}

var (
	_ intent = specIntent("")
	_ intent = (*longIntent)(nil)
	_ intent = pinIntent(nil)
)

// newSpec returns the intent that is text, in memory of its own.
func newSpec(text string) intent {
	if len(text) > spec.MaxLen {
		return &longIntent{head: strings.Clone(spec.Head(text)), size: len(text)}
	}
	return specIntent(strings.Clone(text))
}

// specIntent is a spec of at most spec.MaxLen bytes.
type specIntent string

func (s specIntent) resolve(v *vocabulary, set *bitset.BitSet) []string {
	pending := []string{}
	excludes := false
	for e := range spec.Entries(string(s)) {
		m, ok := v.lookup(e.Name)
		switch {
		case !ok:
			pending = append(pending, fold(e.Name))
		case e.Exclude:
			excludes = true
		default:
			m.addTo(set)
		}
	}
	if excludes { // in a second pass, since an exclusion holds for entries after it too
		for e := range spec.Entries(string(s)) {
			if e.Exclude {
				m, _ := v.lookup(e.Name)
				m.removeFrom(set)
			}
		}
	}
	slices.Sort(pending)
	return slices.Compact(pending)
}

// wantsNothing reports whether s has no entry or excludes all: the two ways to write that
// everything is off.
func (s specIntent) wantsNothing() bool {
	empty := true
	for e := range spec.Entries(string(s)) {
		if e.Exclude && fold(e.Name) == spangate.NameAll {
			return true
		}
		empty = false
	}
	return empty
}

func (s specIntent) attr() slog.Attr { return slog.String("spec", spec.Head(string(s))) }

// longIntent is a spec that is too long to be read. It turns nothing on, and keeps only the
// beginning of the spec, for records.
type longIntent struct {
	head string
	size int
}

func (l *longIntent) resolve(*vocabulary, *bitset.BitSet) []string { return []string{l.head} }

func (l *longIntent) wantsNothing() bool { return false }

func (l *longIntent) attr() slog.Attr {
	return slog.String("spec", l.head)
}

// pinIntent is an explicit set of groups: canonical names, sorted, each once. With none of
// them it is everything off.
type pinIntent []string

func (p pinIntent) resolve(v *vocabulary, set *bitset.BitSet) []string {
	pending := []string{}
	for _, name := range p {
		if i, ok := v.group(name); ok {
			set.Set(i)
		} else {
			pending = append(pending, name)
		}
	}
	return pending
}

func (p pinIntent) wantsNothing() bool { return len(p) == 0 }

func (p pinIntent) attr() slog.Attr { return slog.Any("pin", some(p)) }
