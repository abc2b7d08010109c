// SPDX-License-Identifier: Apache-2.0

//go:build race

package libraries

// databaseLibraries is empty: to build SQLite in Go with the race detector takes minutes. What
// runs concurrently is tested with HTTP and gRPC.
var databaseLibraries []library
