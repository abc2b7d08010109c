// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package spangate

// Compiled reports whether sites are part of this program. It is false when the program is
// built with -tags spangate_off: [Gate.On] is then the constant false, and a guarded site
// compiles to nothing. A gate's word still works as usual, so that what sets and shows it
// needs no second version.
const Compiled = true
