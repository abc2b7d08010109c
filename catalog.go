// SPDX-License-Identifier: Apache-2.0

package spangate

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spangate/spangate/internal/spec"
)

// Lens is nemo-lens's vocabulary (SpanGroup), for any training job.
var Lens = MustCatalog("nemo_lens", lensGroups[:], lensPresets[:])

// Gym is NeMo Gym's vocabulary (GymSpanGroup): [Lens] extended by the groups of a rollout, with
// presets of its own. It deliberately has no group tool_call or dataset, and no preset
// per_step.
var Gym = must(Lens.Extend("nemo_gym", gymGroups[:], gymPresets[:]))

// Catalog is the vocabulary of one namespace: up to [MaxGroups] groups, and presets. It turns
// names into bits and bits into names.
//
// A Catalog is immutable and safe for concurrent use. Make one with [NewCatalog] or
// [Catalog.Extend]; the zero value has no namespace, no group and no preset.
type Catalog struct {
	namespace string
	all       Mask             // the union of the groups
	groups    [MaxGroups]Group // by position; the zero Group if no group has the position
	presets   []Preset         // as given, then NameAll
	byName    map[string]named // the groups and the presets
}

// named is the group or preset that a name means.
type named struct {
	mask   Mask
	preset *Preset // nil for a group
}

// The reasons for which a catalog is refused.
var (
	// ErrInvalidName is a name that breaks the rule of [Group.Name].
	ErrInvalidName = errors.New("invalid name")
	// ErrReservedName is a group or preset called [NameAll].
	ErrReservedName = errors.New("reserved name")
	// ErrDuplicateName is a name that two groups, two presets, or a group and a preset
	// share.
	ErrDuplicateName = errors.New("duplicate name")
	// ErrInvalidBit is a group whose Bit is not exactly one bit.
	ErrInvalidBit = errors.New("invalid bit")
	// ErrDuplicateBit is a bit that two groups share.
	ErrDuplicateBit = errors.New("duplicate bit")
	// ErrTooManyGroups is a catalog of more than [MaxGroups] groups.
	ErrTooManyGroups = errors.New("too many groups")
	// ErrUnnamedBit is a bit that no group of the catalog has, in a preset, or in the mask
	// of a [Selection] that is marshaled.
	ErrUnnamedBit = errors.New("bit without a name")
)

// CatalogError is a catalog that was refused. It unwraps to its reason, such as
// [ErrDuplicateBit]. The zero value is an error without details.
type CatalogError struct {
	// Namespace is the namespace as given.
	Namespace string
	// Name is the name of the invalid group or preset, as given, or Namespace if that is invalid.
	Name string
	// Err wraps the reason and has the details.
	Err error
}

// Error names the catalog, the invalid row and the reason.
func (e *CatalogError) Error() string {
	return fmt.Sprintf("spangate: catalog %s: %s: %v", clip(e.Namespace), clip(e.Name), e.Err)
}

// Unwrap returns e.Err.
func (e *CatalogError) Unwrap() error { return e.Err }

// NewCatalog returns the catalog of namespace with these groups, in any order, and these
// presets. It adds the preset [NameAll].
//
// The namespace follows the rule of [Group.Name] too. The error is a [*CatalogError] for the
// first row that breaks a rule. The slices are copied.
func NewCatalog(namespace string, groups []Group, presets []Preset) (*Catalog, error) {
	return new(Catalog).Extend(namespace, groups, presets)
}

// MustCatalog is [NewCatalog] for a catalog that is part of the program. It panics on an error.
func MustCatalog(namespace string, groups []Group, presets []Preset) *Catalog {
	return must(NewCatalog(namespace, groups, presets))
}

func must(c *Catalog, err error) *Catalog {
	if err != nil {
		panic(err)
	}
	return c
}

// Extend returns the catalog of namespace with the groups of c and these groups. Its presets are
// the ones given and [NameAll]; those of c are not kept, as in a Python subclass of SpanGroup
// that redefines PRESETS. Errors are those of [NewCatalog]; a new group must not have the name or
// bit of a group of c.
func (c *Catalog) Extend(namespace string, groups []Group, presets []Preset) (*Catalog, error) {
	groups = slices.Concat(slices.Collect(c.Groups()), groups)
	x := &Catalog{
		namespace: namespace,
		presets:   append(slices.Clone(presets), Preset{Name: NameAll, Doc: "every group"}),
		byName:    map[string]named{},
	}
	fail := func(name string, err error) (*Catalog, error) {
		return nil, &CatalogError{Namespace: namespace, Name: name, Err: err}
	}
	if err := validName(namespace); err != nil {
		return fail(namespace, err)
	}
	if n := len(groups); n > MaxGroups {
		return fail(groups[MaxGroups].Name, fmt.Errorf("%w: %d, a mask has room for %d; split the catalog in two", ErrTooManyGroups, n, MaxGroups))
	}
	for _, g := range groups {
		if err := x.define(g.Name, named{mask: g.Bit}); err != nil {
			return fail(g.Name, err)
		}
		if g.Bit.Count() != 1 {
			return fail(g.Name, fmt.Errorf("%w: %v has %d bits set, a group has one", ErrInvalidBit, g.Bit, g.Bit.Count()))
		}
		if owner := x.groups[g.Position()]; owner.Bit != 0 {
			return fail(g.Name, fmt.Errorf("%w: %v is already %q", ErrDuplicateBit, g.Bit, owner.Name))
		}
		x.groups[g.Position()] = g
		x.all |= g.Bit
	}
	for i, p := range presets {
		if err := x.define(p.Name, named{p.Mask, &x.presets[i]}); err != nil {
			return fail(p.Name, err)
		}
		if rest := p.Mask &^ x.all; rest != 0 {
			return fail(p.Name, fmt.Errorf("%w: no group has %v", ErrUnnamedBit, rest))
		}
	}
	last := &x.presets[len(presets)]
	last.Mask = x.all
	x.byName[NameAll] = named{x.all, last}
	return x, nil
}

// define adds the name of a group or preset to byName.
func (c *Catalog) define(name string, n named) error {
	if err := validName(name); err != nil {
		return err
	}
	if name == NameAll {
		return fmt.Errorf("%w: it always means every group of the catalog; leave it out", ErrReservedName)
	}
	if _, taken := c.byName[name]; taken {
		return fmt.Errorf("%w: the catalog already has it", ErrDuplicateName)
	}
	c.byName[name] = n
	return nil
}

// validName returns an error unless name follows the rule of [Group.Name].
func validName(name string) error {
	if err := spec.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidName, err)
	}
	return nil
}

// Namespace returns the namespace that owns c.
func (c *Catalog) Namespace() string { return c.namespace }

// Groups yields the groups in bit order.
func (c *Catalog) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for bit := range c.all.Bits() {
			if !yield(c.groups[bit.position()]) {
				return
			}
		}
	}
}

// Presets yields the presets in the order in which they were given, and [NameAll] last.
func (c *Catalog) Presets() iter.Seq[Preset] { return slices.Values(c.presets) }

// All returns the mask of every group.
func (c *Catalog) All() Mask { return c.all }

// Lookup returns the mask of the group or preset called name, in any case, and whether there is
// one. Space around the name is not trimmed.
func (c *Catalog) Lookup(name string) (Mask, bool) {
	n, ok := spec.Lookup(c.byName, name)
	return n.mask, ok
}

// Group returns the group called name, in any case, and whether there is one. The name of a
// preset is not that of a group.
func (c *Catalog) Group(name string) (Group, bool) {
	n, ok := spec.Lookup(c.byName, name)
	if !ok || n.preset != nil {
		return Group{}, false
	}
	return c.groups[n.mask.position()], true
}

// Preset returns the preset called name, in any case, and whether there is one. The name of a
// group is not that of a preset.
func (c *Catalog) Preset(name string) (Preset, bool) {
	n, _ := spec.Lookup(c.byName, name)
	if n.preset == nil {
		return Preset{}, false
	}
	return *n.preset, true
}

// Names returns the names of the groups of m in bit order; never nil. A bit without a name
// appears as its mask, as in 0x8000.
func (c *Catalog) Names(m Mask) []string {
	names := make([]string, 0, m.Count())
	for bit := range m.Bits() {
		names = append(names, c.nameOf(bit))
	}
	return names
}

// Format returns m as a canonical spec: its [Catalog.Names], joined by commas. Unless m has a bit
// without a name, Parse(Format(m)) is m. The empty mask is the empty spec.
func (c *Catalog) Format(m Mask) string { return string(c.appendSpec(nil, m)) }

func (c *Catalog) appendSpec(b []byte, m Mask) []byte {
	for bit := range m.Bits() {
		if bit != m&-m {
			b = append(b, ',')
		}
		b = append(b, c.nameOf(bit)...)
	}
	return b
}

// nameOf returns the name of a single bit, or the bit as a number if it has none.
func (c *Catalog) nameOf(bit Mask) string {
	if c.all.HasAny(bit) {
		return c.groups[bit.position()].Name
	}
	return bit.String()
}

// validNames returns the names of the presets, then those of the groups.
func (c *Catalog) validNames() []string {
	names := make([]string, 0, len(c.byName))
	for _, p := range c.presets {
		names = append(names, p.Name)
	}
	return append(names, c.Names(c.all)...)
}

// unnamed returns an error if m has a bit that c does not name.
func (c *Catalog) unnamed(m Mask) error {
	if rest := m &^ c.all; rest != 0 {
		return fmt.Errorf("spangate: %w: %s has no group for %v of %v, so the text would not parse back; its names are %s",
			ErrUnnamedBit, c.namespace, rest, m, strings.Join(c.validNames(), ", "))
	}
	return nil
}
