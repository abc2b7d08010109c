// SPDX-License-Identifier: Apache-2.0

// Package test tests package control with OpenTelemetry's SDK, for its metrics, and with viper
// and koanf, for its configuration. It is in a module of its own, so that a program which
// imports control does not depend on them.
package test
