// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package spangate

// Compiled reports whether guarded sites are part of this program. It is false in a program
// built with -tags spangate_off: there [Gate.On] is the constant false, and a guarded site
// compiles to nothing. The other methods of a [Gate] work as usual.
const Compiled = true
