// SPDX-License-Identifier: Apache-2.0

// Spangate explains specs of span groups, and changes what is on in a running process:
//
//	spangate explain default,sandbox
//	spangate lease all --for 5m --url http://localhost:8080/spans/
//
// The process mounts the endpoint of package control. Install the command with
//
//	go install github.com/spangate/spangate/cmd/spangate@latest
//
// and see spangate --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// With the signal ignored, a write to a pipe that nobody reads is an error like any
	// other: a lease that is held is released on the way out.
	signal.Ignore(syscall.SIGPIPE)
	// The second signal ends the program as if there were no first.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], newScreen(os.Stdout, os.Environ()), newScreen(os.Stderr, os.Environ())))
}
