// SPDX-License-Identifier: Apache-2.0

// Package test checks package control against what programs use it with: OpenTelemetry's SDK
// for its metrics, and viper and koanf for its configuration. It is a module of its own, so
// that a program which imports control builds none of them.
package test
