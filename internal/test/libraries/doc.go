// SPDX-License-Identifier: Apache-2.0

// Package libraries tests package otelgate with real instrumentation libraries. Each runs on the
// bare SDK, and then behind a gate under every mask of its groups. What it exports behind the
// gate must follow from what it exports on the bare SDK.
//
// The table of the libraries in docs/libraries-tested.md is written by
//
//	go test -run TestDocument -update ./internal/test/libraries
package libraries
