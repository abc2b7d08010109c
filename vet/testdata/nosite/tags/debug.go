// SPDX-License-Identifier: Apache-2.0

//go:build debug

package main

func init() { _ = gate.On(bitDebug) }
