// SPDX-License-Identifier: Apache-2.0

// Rollout runs reinforcement-learning rollouts across four processes, as NeMo Gym does, and
// shows what becomes of their spans while groups of them are switched on and off:
//
//	go run ./examples/rollout
//	go run ./examples/rollout --hold   and keeps the processes up, to switch them by hand
//
// A driver has an agent server do tasks. The agent asks a model server what to do, runs the
// model's tool on a resources server, and has that server verify the answer. All of it is
// real: separate processes, HTTP between them with otelhttp on both sides, OpenTelemetry's SDK
// and its OTLP/HTTP exporter in each, and in the driver a receiver that draws the spans it is
// sent. Each process has a gate of its own and an endpoint that says what is on and because
// of whom. Through those endpoints the driver changes what is on while they all run: the spec
// of every process, and the spans of one for a moment, which is a lease. With --hold, so can
// the reader.
//
// To learn how a program is instrumented, read gate.go, telemetry.go and endpoint.go, then
// agent.go and resources.go, which have the two forms of a site. operator.go is the other side
// of the endpoint. rolloutid.go keeps a rollout one trace where no span above is on. report.go
// has the shape of what --json prints.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	// Each change is logged with who made it and why, which the endpoint shows as well. Only
	// warnings are worth a line beside the output.
	slog.SetLogLoggerLevel(slog.LevelWarn)
	if len(os.Args) > 1 && os.Args[1] == serveCommand {
		exit(serve(os.Args[2:]), 1)
		return
	}
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	exit(err, 2)

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o, os.Stdout)
	if err != nil && ctx.Err() != nil {
		exit(errors.New("interrupted"), 130)
	}
	cancel()
	exit(err, 1)
}

// exit ends the program if there is an error, with one line about it.
func exit(err error, code int) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "rollout: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(code)
	}
}

// What is shown when the command line names no spec.
var (
	shownSpecs = []string{"default", "per_rollout", "all", "per_rollout,-server,-http_client", ""}
	liveSteps  = []step{
		{spec: "default"}, {spec: "default"},
		{spec: "all"}, {spec: "all"},
		{spec: "per_rollout,-server,-http_client"}, {spec: "per_rollout,-server,-http_client"},
		{spec: ""}, {spec: ""},
	}
	leasedSteps = []step{
		{spec: "default"},
		{spec: "default", lease: true}, {spec: "default", lease: true},
		{spec: "default"},
	}
)

// run is the program, from its first process to its last.
func run(ctx context.Context, o *options, stdout io.Writer) (err error) {
	var c *collector
	url := o.otlp
	if url == "" {
		ignoreSettings()
		if c, err = startCollector(o.listen); err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		defer c.stop()
		url = c.url
	}
	t, err := startTelemetry(ctx, "driver", url)
	if err != nil {
		return err
	}
	defer t.stop()
	token := rand.Text()
	e, err := startEndpoint(t, token, http.NotFoundHandler())
	if err != nil {
		return err
	}
	defer e.stop()
	f, err := startFleet(ctx, url, token)
	if err != nil {
		return err
	}
	defer func() {
		// That a server died says more than that a request to it failed.
		if died := f.stop(); died != nil {
			err = died
		}
	}()
	self := &process{role: "driver", pid: os.Getpid(), url: e.url}
	return show(f.ctx, o, newDriver(t, f, newOperator(token, self, f.agent, f.model, f.resources)), c, stdout)
}

// ignoreSettings forgets OTEL_… variables, of the servers too: they are meant for the reader's
// collector, and some would change what is to be seen here.
func ignoreSettings() {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name)
		}
	}
}

// show runs the jobs that the command line asks for and reports on them.
func show(ctx context.Context, o *options, d *driver, c *collector, stdout io.Writer) error {
	p := newPrinter(stdout, os.Environ())
	if o.json {
		p.Writer = io.Discard
	} else {
		p.intro(d, c)
	}
	specs := o.specs
	if specs == nil {
		specs = shownSpecs
	}
	var report Report
	for _, spec := range specs {
		r, spans, err := d.run(ctx, c, slices.Repeat([]step{{spec: spec}}, o.rollouts))
		if err != nil {
			return err
		}
		p.run(r, spans)
		report.Runs = append(report.Runs, r)
	}
	if o.specs == nil {
		live, _, err := d.run(ctx, c, liveSteps)
		if err != nil {
			return err
		}
		p.steps("One job, while the spec changes", live)
		leased, _, err := d.run(ctx, c, leasedSteps)
		if err != nil {
			return err
		}
		p.steps("The sandbox spans of one server for a moment, and back by themselves", leased)
		report.Live, report.Leased = &live, &leased
		if report.OffSite, err = measureOffSite(); err != nil {
			return err
		}
		p.cost(report.OffSite)
	}
	if o.hold {
		return d.hold(ctx, c, p)
	}
	if !o.json {
		return nil
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
