// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"

	"github.com/spf13/pflag"
)

// serveCommand is the first argument of a process that the driver starts. The second is the
// role: agent, model or resources.
const serveCommand = "serve"

// tokenVariable has the token that a server's endpoint asks for. The spangate command looks
// there as well.
const tokenVariable = "SPANGATE_TOKEN"

// serve is one server process, from start to exit. It prints its URL on stdout and runs until
// its stdin is closed: by the driver, or by the system when the driver is gone, whatever way
// it went.
func serve(args []string) error {
	signal.Ignore(os.Interrupt) // a terminal sends Ctrl-C to every process; the driver decides

	flags := pflag.NewFlagSet(serveCommand, pflag.ContinueOnError)
	collector := flags.String("collector", "", "")
	model := flags.String("model", "", "")
	resources := flags.String("resources", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	role := flags.Arg(0)

	t, err := startTelemetry(context.Background(), role, *collector)
	if err != nil {
		return err
	}
	defer t.stop()

	var work http.Handler
	switch role {
	case "agent":
		work = newAgent(t, *model, *resources)
	case "model":
		work = newModel(t)
	case "resources":
		work = newResources(t)
	default:
		return fmt.Errorf("no role %q", role)
	}

	e, err := startEndpoint(t, os.Getenv(tokenVariable), work)
	if err != nil {
		return err
	}
	fmt.Println(e.url)

	io.Copy(io.Discard, os.Stdin)
	return e.stop()
}
