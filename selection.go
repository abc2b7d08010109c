// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"encoding"
	"flag"
	"log/slog"
)

// Selection is a mask with its catalog, for flags, configuration and logs. Its text is a spec;
// JSON, YAML and [flag.TextVar] use that text.
//
//	spans := Spans.Select(BitQuery) // Spans is a Catalog
//	flag.Var(&spans, "spans", "span groups, as in default,cache")
//
// Decoding keeps Catalog, so set it beforehand. The zero value is the empty set of [Gym]. A
// Selection that the decoder creates itself, behind a nil pointer or in a slice or map, is
// therefore read with Gym; for another catalog, decode a string and parse it.
//
// A Selection is a value and may be copied. == is set equality between selections with the same
// Catalog; nil and Gym differ.
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

// Set parses spec with [Catalog.Parse] and replaces the mask of s. On an error s is unchanged.
func (s *Selection) Set(spec string) error {
	m, err := s.catalog().Parse(spec)
	if err != nil {
		return err
	}
	s.Mask = m
	return nil
}

// AppendText appends the canonical spec of s to b. A bit without a name is an error that wraps
// [ErrUnnamedBit], since its text would not parse back.
func (s Selection) AppendText(b []byte) ([]byte, error) {
	c := s.catalog()
	if err := c.unnamed(s.Mask); err != nil {
		return b, err
	}
	return c.appendSpec(b, s.Mask), nil
}

// MarshalText is AppendText to a new slice.
func (s Selection) MarshalText() ([]byte, error) { return s.AppendText([]byte{}) }

// UnmarshalText is [Selection.Set].
func (s *Selection) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// LogValue returns the canonical spec of s as a string.
func (s Selection) LogValue() slog.Value { return slog.StringValue(s.String()) }
