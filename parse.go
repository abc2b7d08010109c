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
	ErrSpecTooLong = errors.New("spec too long")
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
func (c *Catalog) Parse(spec string) (Mask, error) {
	if len(spec) > MaxSpecLen {
		return 0, c.tooLong(spec)
	}
	m, unknown := c.eval(spec)
	if unknown != nil {
		return 0, c.unknown(spec, unknown)
	}
	return m, nil
}

// Resolve is Parse for a spec that is shared with programs that know other names: it
// returns the mask of the names that the catalog has, and those that it lacks, as written
// and in the order of the spec. A spec longer than [MaxSpecLen] is not read: its mask is
// empty, and the one name returned is its beginning followed by "…".
func (c *Catalog) Resolve(s string) (Mask, []string) {
	if len(s) > MaxSpecLen {
		return 0, []string{spec.Head(s)}
	}
	m, unknown := c.eval(s)
	if unknown == nil {
		return m, nil
	}
	names := make([]string, len(unknown))
	for i, u := range unknown {
		names[i] = strings.Clone(u.Name)
	}
	return m, names
}

// eval reads s: its mask without the names that c lacks, and those names (nil if there are
// none), which share the memory of s and have no suggestion yet.
func (c *Catalog) eval(s string) (Mask, []UnknownName) {
	var on, off Mask
	var unknown []UnknownName
	for e := range spec.Entries(s) {
		m, ok := c.Lookup(e.Name)
		switch {
		case !ok:
			unknown = append(unknown, UnknownName{Name: e.Name, Offset: e.Offset})
		case e.Exclude:
			off |= m
		default:
			on |= m
		}
	}
	return on &^ off, unknown
}

func (c *Catalog) tooLong(s string) error {
	return &ParseError{
		Namespace: c.namespace,
		Spec:      spec.Head(s),
		Valid:     c.validNames(),
		Err:       fmt.Errorf("%w: %d bytes, at most %d are read", ErrSpecTooLong, len(s), MaxSpecLen),
	}
}

func (c *Catalog) unknown(s string, unknown []UnknownName) error {
	s = strings.Clone(s) // don't hold on to the memory that the caller cut it from
	valid := c.validNames()
	for i := range unknown {
		u := &unknown[i]
		u.Name = s[u.Offset:][:len(u.Name)]
		u.Suggestion = spec.Nearest(u.Name, valid)
	}
	return &ParseError{Namespace: c.namespace, Spec: s, Unknown: unknown, Valid: valid, Err: ErrUnknownName}
}
