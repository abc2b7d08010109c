// SPDX-License-Identifier: Apache-2.0

// Package module finds the bench module on disk, wherever its commands are run from.
package module

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Path is the module's.
const Path = "github.com/spangate/spangate/bench"

// Dir returns the module's folder.
func Dir() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f={{.Dir}}", Path).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("looking for module %s, which has to be run inside its repository: %w", Path, err)
	}
	return strings.TrimSpace(string(out)), nil
}
