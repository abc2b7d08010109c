// SPDX-License-Identifier: Apache-2.0

package spec

import "strings"

// MaxIDLen is the length in bytes of the longest ID of an override.
const MaxIDLen = 64

// IsID reports whether s may be the ID of an override: 1 to 64 of A-Z, a-z, 0-9, '_' and '-'.
func IsID(s string) bool {
	return s != "" && len(s) <= MaxIDLen && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && r != '_' && r != '-'
	})
}
