// SPDX-License-Identifier: Apache-2.0

// Package test checks the metrics of package control against OpenTelemetry's SDK. It is a
// module of its own, so that a program which imports control builds no SDK.
package test
