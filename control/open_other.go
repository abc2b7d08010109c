// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package control

const openFlags = 0
