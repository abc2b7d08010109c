// SPDX-License-Identifier: Apache-2.0

// Package setup tests package setup in a program that uses otelhttp, and otelsql on SQLite. It has
// no tests under the race detector, with which SQLite in Go takes minutes to build.
package setup
