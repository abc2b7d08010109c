// SPDX-License-Identifier: Apache-2.0

// Package bench measures spangate beside what it would be used instead of.
package bench
