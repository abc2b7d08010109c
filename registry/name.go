// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strings"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// canonical returns name as it is kept and reported: trimmed and folded.
func canonical(name string) string { return fold(spec.Trim(name)) }

// fold lower-cases name as Python's str.lower does, in memory of its own. Names that are
// registered are ASCII; the rest is for reports, where one name should be one entry
// however it is spelt.
func fold(name string) string {
	var buf [spec.MaxNameLen]byte
	if b, ok := spec.Fold(&buf, name); ok {
		return string(b)
	}
	// Go maps İ to i, which would make it look like an ASCII name; in Python it stays
	// apart by its dot.
	return strings.Clone(strings.ToLower(strings.ReplaceAll(name, "İ", "i\u0307")))
}

// checkName returns an error if no group or preset can have this canonical name.
func checkName(name string) error {
	if name == "" {
		return because(ErrEmptyName, "give it a name, or leave it out")
	}
	if name == spangate.NameAll {
		return because(ErrReservedName, "it always means every group that is registered, and is used in a spec only")
	}
	if err := spec.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", spangate.ErrInvalidName, err)
	}
	return nil
}
