// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/spangate/spangate"
)

// maxRollouts is how many rollouts a job may have. Their spans are kept in memory.
const maxRollouts = 500

// options is the command line.
type options struct {
	specs    []string // nil: show everything
	rollouts int
	listen   string
	otlp     string // the reader's collector, as the URL that spans are posted to
	json     bool
	hold     bool
}

const usage = `Runs rollouts on three server processes and shows what becomes of their spans while
groups of them are switched on and off.

Usage: go run ./examples/rollout [flags]

`

// parseOptions reads the command line. Its error is [pflag.ErrHelp] after it has printed the
// help that was asked for.
func parseOptions(args []string) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet("rollout", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringArrayVar(&o.specs, "spec", nil, "run rollouts with this `spec` only, as in default,sandbox; may be empty, and repeated")
	flags.IntVar(&o.rollouts, "rollouts", 3, "how many rollouts to run with each spec")
	flags.BoolVar(&o.json, "json", false, "print the result as JSON")
	flags.BoolVar(&o.hold, "hold", false, "keep the processes up afterwards, to change their spans by hand")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` on which the spans are received")
	flags.StringVar(&o.otlp, "otlp", "", "send the spans to the collector at this `URL` instead, as in http://localhost:4318")
	flags.Usage = func() { fmt.Print(usage, flags.FlagUsages()) }

	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rollouts < 1 || o.rollouts > maxRollouts {
		return nil, fmt.Errorf("--rollouts %d: from 1 to %d are possible", o.rollouts, maxRollouts)
	}
	if o.json && o.hold {
		return nil, errors.New("--json and --hold: the one is for programs and the other for people")
	}
	for _, spec := range o.specs {
		if _, err := spangate.Parse(spec); err != nil {
			return nil, fmt.Errorf("--spec: %w", err)
		}
	}
	if flags.Changed("otlp") {
		if flags.Changed("listen") {
			return nil, errors.New("--otlp and --listen: spans are either sent to your collector or received here")
		}
		if err := o.tracesURL(); err != nil {
			return nil, fmt.Errorf("--otlp %q: %w", o.otlp, err)
		}
	}
	return o, nil
}

// tracesURL completes the collector's URL. One without a path is a base, as in
// OTEL_EXPORTER_OTLP_ENDPOINT.
func (o *options) tracesURL() error {
	u, err := url.Parse(o.otlp)
	if err != nil {
		return err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("not an http or https URL")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	o.otlp = u.String()
	return nil
}
