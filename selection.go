// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"encoding"
	"flag"
	"log/slog"
)

// Selection is a mask with the catalog that names it: for flags, configuration and logs.
// Its text is a spec, and JSON, YAML and [flag.TextVar] come with that.
//
//	spans := spangate.Gym.Select(spangate.PresetDefault)
//	flag.Var(&spans, "spans", "span groups, as in default,sandbox")
//
// The zero value is the empty set of the [Gym] catalog. To decode names of another catalog,
// set Catalog beforehand: decoding keeps it. A Selection that the decoder makes itself,
// behind a nil pointer or in a slice or map, is Gym's; there, decode a string and parse it.
//
// A Selection is a value and may be copied. == compares masks among selections of one
// catalog, where nil and Gym are two.
type Selection struct {
	Catalog *Catalog // nil means Gym
	Mask    Mask
}

var (
	_ encoding.TextMarshaler   = Selection{}
	_ encoding.TextAppender    = Selection{}
	_ slog.LogValuer           = Selection{}
	_ encoding.TextUnmarshaler = (*Selection)(nil)
	_ flag.Value               = (*Selection)(nil)
)

// Select returns m with the names of c.
func (c *Catalog) Select(m Mask) Selection { return Selection{Catalog: c, Mask: m} }

func (s Selection) catalog() *Catalog {
	if s.Catalog == nil {
		return Gym
	}
	return s.Catalog
}

// String returns the canonical spec of s, as [Catalog.Format] does.
func (s Selection) String() string { return s.catalog().Format(s.Mask) }

// Set parses spec with the catalog of s, as [Catalog.Parse] does, and puts its mask in
// place of that of s. On an error s is as it was. It makes *Selection a [flag.Value].
func (s *Selection) Set(spec string) error {
	m, err := s.catalog().Parse(spec)
	if err != nil {
		return err
	}
	s.Mask = m
	return nil
}

// AppendText appends the canonical spec of s to b. A bit that the catalog does not name is
// an error that unwraps to [ErrUnnamedBit], since it would not parse back.
func (s Selection) AppendText(b []byte) ([]byte, error) {
	c := s.catalog()
	if err := c.unnamed(s.Mask); err != nil {
		return b, err
	}
	return c.appendSpec(b, s.Mask), nil
}

// MarshalText is AppendText to a new slice.
func (s Selection) MarshalText() ([]byte, error) { return s.AppendText([]byte{}) }

// UnmarshalText is [Selection.Set] for text: strict, and on an error s is as it was.
func (s *Selection) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// LogValue returns the canonical spec of s as a string.
func (s Selection) LogValue() slog.Value { return slog.StringValue(s.String()) }
