// SPDX-License-Identifier: Apache-2.0

// Without an assembly file in the package Go refuses functions that have no body, which is
// what go:linkname gives the runtime's to.
