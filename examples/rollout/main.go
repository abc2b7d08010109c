// SPDX-License-Identifier: Apache-2.0

// Rollout runs reinforcement-learning rollouts on four processes, as NeMo Gym does, and draws
// their spans while groups of spans are switched on and off:
//
//	go run ./examples/rollout
//	go run ./examples/rollout --detail-one   runs ten rollouts, one of them in full detail
//	go run ./examples/rollout --hold         keeps the processes up, to switch groups by hand
//
// A driver gives tasks to an agent server. The agent asks a model server what to do, runs the
// model's tool on a resources server, and has that server verify the answer. The processes call
// each other over HTTP, with otelhttp on both sides, and export their spans with OpenTelemetry's
// SDK over OTLP/HTTP to the driver. Each has its own gate, and an endpoint that shows which
// groups are on and why, and through which the driver changes them.
//
// To see how a program is instrumented, read telemetry.go and serve.go, then gym.go, which has
// the two forms of a site. driver.go changes the groups, and detail.go those of one trace. rolloutid.go keeps the spans of
// a rollout in one trace where no span above them is on. The spans have the names and attributes
// of NeMo Gym's Python processes, as docs/gym.md lists. report.go documents the output of --json.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/spangate/spangate"
)

func main() {
	slog.SetLogLoggerLevel(slog.LevelWarn) // the log of changes would hide the output
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

// exit prints err in one line and ends the program, unless err is nil.
func exit(err error, code int) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "rollout: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(code)
	}
}

// maxRollouts bounds the spans of a job, which are kept in memory.
const maxRollouts = 500

// options is the command line.
type options struct {
	specs            []string // nil runs the default jobs
	rollouts         int
	detailOne        bool
	json, hold, bare bool
	listen           string
	otlp             string // the URL that spans are posted to; empty for the driver's own collector
}

const usage = `Runs rollouts on three server processes and draws their spans, while groups of spans are
switched on and off.

Usage: go run ./examples/rollout [flags]

`

// parseOptions returns [pflag.ErrHelp] after it has printed the help.
func parseOptions(args []string) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("rollout", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringArrayVar(&o.specs, "spec", nil, "run rollouts with this `spec` only, as in default,sandbox; may be empty, and repeated")
	flags.IntVar(&o.rollouts, "rollouts", 3, "how many rollouts to run with each spec")
	flags.BoolVar(&o.detailOne, "detail-one", false, "run ten rollouts with spec default, or --rollouts, and one of them in full detail")
	flags.BoolVar(&o.json, "json", false, "print the result as JSON")
	flags.BoolVar(&o.hold, "hold", false, "keep the processes up afterwards, to change their spans by hand")
	flags.BoolVar(&o.bare, "bare", false, "run one job without OpenTelemetry, to compare its cost")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` on which the spans are received")
	flags.StringVar(&o.otlp, "otlp", "", "send the spans to the collector at this `URL` instead, as in http://localhost:4318; by gRPC with OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	flags.Usage = func() { fmt.Print(usage, flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.rollouts < 1 || o.rollouts > maxRollouts:
		return nil, fmt.Errorf("--rollouts %d: must be from 1 to %d", o.rollouts, maxRollouts)
	case o.detailOne && o.specs != nil:
		return nil, errors.New("--detail-one and --spec: choose one; the rollouts of --detail-one have spec default")
	case o.detailOne && o.bare:
		return nil, errors.New("--detail-one and --bare: choose one; without OpenTelemetry there are no spans")
	case o.json && o.hold:
		return nil, errors.New("--json and --hold: choose one; --hold prints for people")
	case o.bare && o.specs != nil:
		return nil, errors.New("--bare and --spec: choose one; without OpenTelemetry there are no spans")
	case flags.Changed("otlp") && flags.Changed("listen"):
		return nil, errors.New("--otlp and --listen: choose one; spans are sent to your collector or received here")
	}
	for _, spec := range o.specs {
		if _, err := spangate.Parse(spec); err != nil {
			return nil, fmt.Errorf("--spec: %w", err)
		}
	}
	if o.bare {
		o.specs = []string{""}
	}
	if o.detailOne && !flags.Changed("rollouts") {
		o.rollouts = 10
	}
	if flags.Changed("otlp") { // it may be empty, which is an error
		u, err := url.Parse(o.otlp)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("--otlp %q: must be an http or https URL, as in http://localhost:4318", o.otlp)
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = tracesPath // as with OTEL_EXPORTER_OTLP_ENDPOINT
		}
		o.otlp = u.String()
	}
	return o, nil
}

const innerOnly = "per_rollout,-server,-http_client"

// The jobs that run without --spec.
var (
	defaultSpecs = []string{"default", "per_rollout", "all", innerOnly, ""}
	liveSteps    = []step{
		{spec: "default"}, {spec: "default"}, {spec: "all"}, {spec: "all"},
		{spec: innerOnly}, {spec: innerOnly}, {spec: ""}, {spec: ""},
	}
	leasedSteps = []step{{spec: "default"}, {spec: "default", lease: true}, {spec: "default", lease: true}, {spec: "default"}}
)

// run is the program, from its first process to its last.
func run(ctx context.Context, o *options, stdout io.Writer) (err error) {
	d, err := startDriver(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		// That a server has died explains more than that a request to it failed.
		if died := d.stop(); died != nil {
			err = died
		}
	}()
	ctx = d.ctx
	p := newPrinter(stdout, os.Environ())
	if o.json {
		p.Writer = io.Discard
	}
	p.intro(d, o)
	report, err := d.report(ctx, o, p)
	if err == nil && o.hold {
		return d.hold(ctx, p)
	}
	if err == nil && o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return err
}

// report runs the jobs that the command line selects, and prints each when it is done.
func (d *driver) report(ctx context.Context, o *options, p *printer) (report Report, err error) {
	if o.detailOne {
		r, spans, err := d.detailOne(ctx, o.rollouts)
		if err != nil {
			return report, err
		}
		p.detailOne(r, spans)
		report.Runs, report.DetailOne = []Run{r}, newDetailOne(r, spans)
		return report, nil
	}
	specs := o.specs
	if specs == nil {
		specs = defaultSpecs
	}
	for _, spec := range specs {
		r, spans, err := d.run(ctx, slices.Repeat([]step{{spec: spec}}, o.rollouts))
		if err != nil {
			return report, err
		}
		p.run(r, spans)
		report.Runs = append(report.Runs, r)
	}
	if o.specs != nil {
		return report, nil
	}
	live, _, err := d.run(ctx, liveSteps)
	if err != nil {
		return report, err
	}
	p.steps("One job, while the spec changes", live)
	leased, _, err := d.run(ctx, leasedSteps)
	if err != nil {
		return report, err
	}
	p.steps("One job, while a server has a lease", leased)
	report.Live, report.Leased, report.OffSite = &live, &leased, measureOffSite()
	p.cost(report.OffSite)
	return report, nil
}
