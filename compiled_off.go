// SPDX-License-Identifier: Apache-2.0

//go:build spangate_off

package spangate

// Compiled reports whether guarded sites are part of this program. They are not, since it is
// built with -tags spangate_off.
const Compiled = false
