// SPDX-License-Identifier: Apache-2.0

// Package test tests package otelgate with the OpenTelemetry SDK and otelhttp, which the root
// module does not require.
package test
