// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// canonical returns name as it is kept and reported: trimmed and folded.
func canonical(name string) string { return spec.Lower(spec.Trim(name)) }

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
