// SPDX-License-Identifier: Apache-2.0

//go:build race

package libraries

// databaseLibraries is empty, since SQLite in Go takes minutes to build with the race detector.
// HTTP and gRPC test what runs concurrently.
var databaseLibraries []library
