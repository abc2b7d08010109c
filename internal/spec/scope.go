// SPDX-License-Identifier: Apache-2.0

package spec

import "strings"

// EmptyScope is the name that the SDK gives to an instrumentation scope whose name is empty.
const EmptyScope = "go.opentelemetry.io/otel/sdk/tracer"

// IsMajorVersion reports whether s, an element of the name of a scope, is v and a number.
func IsMajorVersion(s string) bool {
	digits, ok := strings.CutPrefix(s, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
