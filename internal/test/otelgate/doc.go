// SPDX-License-Identifier: Apache-2.0

// Package test tests package otelgate on the OpenTelemetry SDK and on otelhttp. It is a
// module of its own, so that those who import otelgate need neither.
package test
