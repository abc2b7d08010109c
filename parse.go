// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spangate/spangate/internal/spec"
)

// The spec language:
//
//	spec  = [ entry { "," entry } ]
//	entry = space [ "-" ] name space        an empty entry is skipped
//	name  = a preset's or a group's name, in any case
//
// A spec's mask is the union of its plain entries, minus the union of its entries with '-'.
// In the Gym catalog:
//
//	""                      nothing
//	default                 job, server, http_client, rollout
//	default,sandbox         those and sandbox
//	all,-sandbox            everything but sandbox
//	-sandbox,all            the same: order never matters
//	default,-rollout        job, server, http_client
//	 Default , SANDBOX      default,sandbox: space and case don't matter
//	default,,               default: empty entries are skipped
//	rollouts                an error: did you mean "rollout"?
//	- sandbox               an error: the name begins right after the '-'
//
// Go and Python processes of one job often share a spec, so the space that is trimmed and
// the case that is folded are those of Python's str.strip and str.lower. They are what
// nemo-lens uses: "ſtep" is not step, "chec\u212Apoint" (KELVIN SIGN) is checkpoint.

// MaxSpecLen is the length in bytes of the longest spec that is read.
const MaxSpecLen = spec.MaxLen

// MaxNameLen is the length in bytes of the longest name of a group, preset or namespace.
const MaxNameLen = spec.MaxNameLen

var (
	// ErrUnknownName is what a [*ParseError] unwraps to when the spec has a name that the
	// catalog lacks.
	ErrUnknownName = errors.New("unknown name")
	// ErrSpecTooLong is what a [*ParseError] unwraps to when the spec is longer than
	// [MaxSpecLen].
	ErrSpecTooLong = spec.ErrTooLong
)

// ParseError says why a spec was refused. It unwraps to [ErrUnknownName] or
// [ErrSpecTooLong].
type ParseError struct {
	// Namespace is that of the catalog that refused the spec.
	Namespace string
	// Spec is the whole spec as it was given; of one that is too long, its beginning and "…".
	Spec string
	// Unknown has every name that the catalog lacks, in the order of the spec. It is
	// empty if the spec is too long.
	Unknown []UnknownName
	// Valid has the names that the catalog knows: presets first, then groups in bit order.
	Valid []string
	// Err is the sentinel.
	Err error
}

// UnknownName is a name in a spec that the catalog lacks.
type UnknownName struct {
	// Name is the name as written, without the '-' of an exclusion.
	Name string
	// Offset is where Name begins in the spec, in bytes.
	Offset int
	// Suggestion is the nearest name that the catalog knows, or empty if none is close.
	Suggestion string
}

// Unwrap returns e.Err.
func (e *ParseError) Unwrap() error { return e.Err }

// Error names what is unknown, where it stands, what may have been meant and what is valid.
// It quotes only the beginning of a spec that is long.
func (e *ParseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spangate: spec %s: ", clip(e.Spec))
	if len(e.Unknown) == 0 {
		fmt.Fprint(&b, e.Err)
		return b.String()
	}
	const most = 8
	for i, u := range e.Unknown {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(e.Unknown)-most)
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
	if len(e.Valid) == 0 {
		b.WriteString("; the catalog has no names at all")
	} else {
		fmt.Fprintf(&b, "; %s has %s", e.Namespace, strings.Join(e.Valid, ", "))
	}
	return b.String()
}

// clip quotes s, and of a long s its beginning.
func clip(s string) string { return strconv.Quote(spec.Head(s)) }

// Parse returns the mask that spec selects in the [Gym] catalog; see [Catalog.Parse].
func Parse(spec string) (Mask, error) { return Gym.Parse(spec) }

// MustParse is [Parse] for specs that are part of the program: it panics on an error.
func MustParse(spec string) Mask {
	m, err := Parse(spec)
	if err != nil {
		panic(err)
	}
	return m
}

// Parse returns the mask that spec selects. An empty spec, or one with empty entries only,
// is the empty mask.
//
// A name that the catalog lacks is an error, since enabling nothing in silence looks just
// like a working configuration; so is a spec longer than [MaxSpecLen]. The error is a
// [*ParseError] and the mask is then empty. Parse does not allocate when it succeeds.
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

// Resolve is Parse for a spec that is shared with programs that know other names: it
// returns the mask of the names that the catalog has, and those that it lacks, as written
// and in the order of the spec. A spec longer than [MaxSpecLen] is not read: its mask is
// empty, and the one name returned is its beginning followed by "…".
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

// eval returns the mask of text without the names that c lacks, and the entries of those.
func (c *Catalog) eval(text string) (m Mask, unknown []spec.Entry) {
	unknown = spec.Eval(text, c.byName,
		func(n named) { m |= n.mask },
		func(n named) { m &^= n.mask })
	return m, unknown
}

// unknownNames returns the error for text, in which c lacks the names of these entries.
func (c *Catalog) unknownNames(text string, entries []spec.Entry) error {
	e := &ParseError{
		Namespace: c.namespace,
		Spec:      strings.Clone(text), // not to keep the caller's buffer alive
		Unknown:   make([]UnknownName, len(entries)),
		Valid:     c.validNames(),
		Err:       ErrUnknownName,
	}
	for i, entry := range entries {
		e.Unknown[i] = UnknownName{
			Name:       e.Spec[entry.Offset:][:len(entry.Name)],
			Offset:     entry.Offset,
			Suggestion: spec.Nearest(entry.Name, e.Valid),
		}
	}
	return e
}
