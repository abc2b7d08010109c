// SPDX-License-Identifier: Apache-2.0

//go:build spangate_off

package spangate

// Compiled reports whether sites are part of this program: it is not, since this one is
// built with -tags spangate_off.
const Compiled = false
