// SPDX-License-Identifier: Apache-2.0

// Package libraries has the code of docs/libraries.md: a library that has a gate (mydb, and mydb/v2
// with the next major version), one that has none (cache), and examples of programs that use them.
package libraries
