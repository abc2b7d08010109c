// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spangate/spangate/internal/spec"
)

// MaxSpecLen is the length in bytes of the longest spec that is read: 64 KiB.
const MaxSpecLen = spec.MaxLen

// MaxNameLen is the length in bytes of the longest name of a group, preset or namespace: 63.
const MaxNameLen = spec.MaxNameLen

// The reasons for which a spec is refused; a [*ParseError] unwraps to one of them.
var (
	// ErrUnknownName is the reason for a spec with a name that no group and no preset has.
	ErrUnknownName = errors.New("unknown name")
	// ErrSpecTooLong is the reason for a spec longer than [MaxSpecLen].
	ErrSpecTooLong = spec.ErrTooLong
)

// ParseError is a spec that was refused. It unwraps to [ErrUnknownName] or [ErrSpecTooLong].
// The zero value is an error without details.
type ParseError struct {
	// Namespace is that of the catalog that refused the spec. It is empty if the names are
	// those of several catalogs, as in a registry.
	Namespace string
	// Spec is the spec as given; of one that is too long, its beginning and "…".
	Spec string
	// Unknown has every unknown name in the order of the spec. It is empty if the spec is
	// too long.
	Unknown []UnknownName
	// Valid has the names to choose from: presets first, then groups. It may be empty.
	Valid []string
	// Err is [ErrUnknownName], or an error that wraps [ErrSpecTooLong] and has the lengths.
	Err error
}

// UnknownName is a name in a spec that the catalog lacks.
type UnknownName struct {
	// Name is the name as written, without the '-' of an exclusion. It is empty for an
	// entry that is '-' alone.
	Name string
	// Offset is the index in the spec of the first byte of Name.
	Offset int
	// Suggestion is the valid name nearest to Name, or empty if none is close. Only the first
	// 64 unknown names of a spec have one.
	Suggestion string
}

// Unwrap returns e.Err.
func (e *ParseError) Unwrap() error { return e.Err }

// Error says which names are unknown, where each is, what may have been meant and which names
// are valid. It quotes at most the beginning of a spec, and at most eight names of it.
func (e *ParseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spangate: spec %s: ", clip(e.Spec))
	if len(e.Unknown) == 0 {
		fmt.Fprint(&b, e.Err)
		return b.String()
	}
	const maxListed = 8
	for i, u := range e.Unknown {
		if i == maxListed {
			fmt.Fprintf(&b, ", and %d more", len(e.Unknown)-maxListed)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if u.Name == "" {
			fmt.Fprintf(&b, "no name after the '-' at byte %d", u.Offset-1)
			continue
		}
		fmt.Fprintf(&b, "unknown name %s at byte %d", clip(u.Name), u.Offset)
		if u.Suggestion != "" {
			fmt.Fprintf(&b, " (did you mean %q?)", u.Suggestion)
		}
	}
	switch names := strings.Join(e.Valid, ", "); {
	case len(e.Valid) == 0:
		b.WriteString("; there are no valid names")
	case e.Namespace == "":
		b.WriteString("; valid names are " + names)
	default:
		b.WriteString("; " + e.Namespace + " has " + names)
	}
	return b.String()
}

// clip quotes s, or the beginning of a long s.
func clip(s string) string { return strconv.Quote(spec.Head(s)) }

// Parse returns the mask that spec selects in the [Gym] catalog; see [Catalog.Parse].
func Parse(spec string) (Mask, error) { return Gym.Parse(spec) }

// MustParse is [Parse] for a spec that is part of the program. It panics on an error.
func MustParse(spec string) Mask {
	m, err := Parse(spec)
	if err != nil {
		panic(err)
	}
	return m
}

// Parse returns the mask that text, a spec, selects. The package documentation has the
// language of specs. An empty spec, or one of empty entries only, is the empty mask.
//
// A name that the catalog lacks is an error, since a spec that silently enables nothing looks
// like a working configuration. A spec longer than [MaxSpecLen] is an error too. The error is
// a [*ParseError], and the mask is then empty. Parse does not allocate when it succeeds.
func (c *Catalog) Parse(text string) (Mask, error) {
	if err := spec.CheckLen(text); err != nil {
		return 0, &ParseError{Namespace: c.namespace, Spec: spec.Head(text), Valid: c.validNames(), Err: err}
	}
	m, unknown := c.eval(text)
	if unknown != nil {
		return 0, c.unknownNames(text, unknown)
	}
	return m, nil
}

// Resolve is [Catalog.Parse] for a spec that is shared with programs of other catalogs. It
// returns the mask of the names that c has, and the names that c lacks, as written and in the
// order of the spec; nil if there are none. A spec longer than [MaxSpecLen] is not read: its
// mask is empty, and the one name returned is its beginning followed by "…".
func (c *Catalog) Resolve(text string) (m Mask, unknown []string) {
	if spec.CheckLen(text) != nil {
		return 0, []string{spec.Head(text)}
	}
	m, entries := c.eval(text)
	for _, e := range entries {
		unknown = append(unknown, strings.Clone(e.Name))
	}
	return m, unknown
}

// eval returns the mask of the names in text that c has, and the entries of the other names.
func (c *Catalog) eval(text string) (m Mask, unknown []spec.Entry) {
	unknown = spec.Eval(text, c.byName,
		func(n named) { m |= n.mask },
		func(n named) { m &^= n.mask })
	return m, unknown
}

// unknownNames returns the error for text with these entries, whose names c lacks.
func (c *Catalog) unknownNames(text string, entries []spec.Entry) error {
	e := &ParseError{
		Namespace: c.namespace,
		Spec:      strings.Clone(text), // not to keep the caller's buffer alive
		Unknown:   make([]UnknownName, len(entries)),
		Valid:     c.validNames(),
		Err:       ErrUnknownName,
	}
	for i, entry := range entries {
		e.Unknown[i] = UnknownName{Name: e.Spec[entry.Offset:][:len(entry.Name)], Offset: entry.Offset}
		if i < spec.MaxSuggested {
			e.Unknown[i].Suggestion = spec.Nearest(entry.Name, e.Valid)
		}
	}
	return e
}
