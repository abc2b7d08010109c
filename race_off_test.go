// SPDX-License-Identifier: Apache-2.0

//go:build !race

package spangate_test

const raceEnabled = false
