// SPDX-License-Identifier: Apache-2.0

// Spangate explains specs of span groups, and changes what is on in a running process:
//
//	spangate explain default,sandbox
//	spangate lease all --for 5m --url http://localhost:8080/spans/
//
// The process mounts the endpoint of package control. In a checkout of the repository
//
//	go install ./cmd/spangate
//
// installs the command; spangate --help says the rest, the exit codes too.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// With the signal ignored, a write to a pipe whose reader has gone is an error like any
	// other. So the command can release a lease that it could not show.
	signal.Ignore(syscall.SIGPIPE)
	log.SetOutput(io.Discard) // where net/http records what it does not return
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, signals...)
	go func() {
		<-caught
		// From now on the second signal ends the program at once. signal.NotifyContext would
		// have it caught for a while after ctx is done.
		signal.Stop(caught)
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], newScreen(os.Stdout, os.Environ()), newScreen(os.Stderr, os.Environ())))
}
