// SPDX-License-Identifier: Apache-2.0

//go:build unix

package control

import "syscall"

// openFlags keep open from waiting, as it does for the other end of a named pipe, and from
// making a terminal that of the process.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
