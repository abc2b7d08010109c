// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// The environment in place of the flags --url and --token-file.
const (
	envURL   = "SPANGATE_URL"
	envToken = "SPANGATE_TOKEN"
)

// remote is a command on a running process: its flags, and the client of the process.
type remote struct {
	*program
	*client.Client
	ctx       context.Context
	urls      []string
	tokenFile string
	timeout   time.Duration
	dryRun    bool
	condition client.ChangeOption // of a change, or nil
}

// What a command on a running process can do.
const (
	changes = 1 << iota // make a change, which may be conditional
	dryRuns             // show a change without making it
	several             // run on several processes
)

// remote makes cmd a command on a running process.
func (p *program) remote(cmd *cobra.Command, can int, run func(*remote, string) (answer, error)) *cobra.Command {
	r := &remote{program: p}
	flags := cmd.Flags()
	usage := "`URL` of the endpoint, as in http://localhost:8080/spans/ (default $" + envURL + ")"
	if can&several != 0 {
		usage += "; may be repeated, or @FILE with a URL on each line"
	}
	flags.StringArrayVar(&r.urls, "url", nil, usage)
	flags.StringVar(&r.tokenFile, "token-file", "", "`file` with the bearer token (default: the token in $"+envToken+")")
	flags.DurationVar(&r.timeout, "timeout", 10*time.Second, "how long a request may take")
	if can&changes != 0 {
		flags.Func("if-match", "change nothing unless the state is of this `generation`, which get shows", func(generation string) error {
			r.condition = client.IfMatch(generation)
			return nil
		})
	}
	if can&dryRuns != 0 {
		flags.BoolVar(&r.dryRun, "dry-run", false, "change nothing, and show what would change")
		cmd.MarkFlagsMutuallyExclusive("dry-run", "if-match")
	}
	completeFlag(cmd, "url")
	return p.command(cmd, r.candidates, func(ctx context.Context, arg string) (answer, error) {
		clients, listed, err := r.clients()
		if err != nil {
			return answer{}, err
		}
		if argument(cmd) == "SPEC" && !utf8.ValidString(arg) { // JSON would change what is not UTF-8
			return answer{}, usagef("the spec %s is not UTF-8", short(arg))
		}
		flags.Visit(func(f *pflag.Flag) {
			if text := f.Value.String(); f.Name != "token-file" && !utf8.ValidString(text) {
				err = usagef("--%s %s is not UTF-8", f.Name, short(text))
			}
		})
		if err != nil {
			return answer{}, err
		}
		runOn := func(c *client.Client) (answer, error) {
			one := *r
			one.ctx, one.Client = ctx, c
			return run(&one, arg)
		}
		switch {
		case !listed:
			return runOn(clients[0])
		case can&several == 0:
			return answer{}, usagef("%s is for one process, and --url gives a list", cmd.Name())
		}
		for _, flag := range []string{"if-match", "wait"} {
			if flags.Changed(flag) {
				return answer{}, usagef("--%s is for one process, and --url gives a list", flag)
			}
		}
		return p.onEach(ctx, clients, runOn)
	})
}

// reading makes cmd a command that shows something of the state of a process.
func (p *program) reading(cmd *cobra.Command, run func(*remote, *client.State, string) (answer, error)) *cobra.Command {
	return p.remote(cmd, several, func(r *remote, arg string) (answer, error) {
		state, err := r.State(r.ctx)
		if err != nil {
			return answer{}, err
		}
		return run(r, state, arg)
	})
}

// clients returns a client of each endpoint that the flags and the environment name, and whether these
// are a list, which may have one element.
func (r *remote) clients() (clients []*client.Client, listed bool, err error) {
	urls, token := r.urls, os.Getenv(envToken)
	if len(urls) == 0 {
		urls = []string{os.Getenv(envURL)}
	}
	if r.tokenFile != "" {
		token, err = readText(r.tokenFile, 16<<10, "token")
	}
	switch {
	case strings.TrimSpace(strings.Join(urls, "")) == "":
		return nil, false, usagef("which process? Give --url or set %s to where the endpoint is, as in http://localhost:8080/spans/", envURL)
	case r.timeout <= 0:
		return nil, false, usagef("--timeout %v: more than nothing, as in 10s", r.timeout)
	case err != nil:
		return nil, false, usagef("--token-file: %w", err)
	}
	options := []client.Option{client.Token(strings.TrimSpace(token)), client.HTTPClient(&http.Client{Timeout: r.timeout})}
	found := make(map[string]bool) // URLs, since one may be repeated
	for _, url := range urls {
		name, isFile := strings.CutPrefix(url, "@")
		lines := []string{url}
		if isFile {
			text, err := readText(name, 1<<20, "list of URLs")
			if err != nil {
				return nil, false, usagef("--url: %w", err)
			}
			lines = strings.Split(text, "\n")
		}
		for i, line := range lines {
			if isFile {
				if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) == "" {
					continue
				}
			}
			c, err := client.New(line, options...)
			if err != nil {
				return nil, false, fmt.Errorf("%s%w", onlyIf(isFile, fmt.Sprintf("%s:%d: ", name, i+1)), err)
			}
			if !found[c.URL()] {
				found[c.URL()], clients = true, append(clients, c)
			}
		}
		listed = listed || isFile || len(urls) > 1
	}
	if len(clients) == 0 {
		return nil, false, usagef("--url %s: no line has a URL", urls[0])
	}
	return clients, listed, nil
}

// readText returns the text of a file that holds a thing. A file that is blank or longer than most bytes
// is an error.
func readText(name string, most int64, thing string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err == nil && int64(len(b)) > most:
		err = fmt.Errorf("%s is longer than %d bytes, which no %s is", name, most, thing)
	case err == nil && strings.TrimSpace(string(b)) == "":
		err = fmt.Errorf("%s is empty", name)
	}
	return string(b), err
}

// result is what one of several processes answered, as JSON.
type result struct {
	URL    string      `json:"url"`
	Answer any         `json:"answer,omitempty"`
	Error  *wire.Error `json:"error,omitempty"`

	line string
	then func(error) error
	err  error
	exit int
}

// onEach runs a command on several processes, and shows a line for each: in the order of clients, with
// those that failed last. The exit code is that of all failures, or exitFailed if they differ.
func (p *program) onEach(ctx context.Context, clients []*client.Client, run func(*client.Client) (answer, error)) (answer, error) {
	results := make([]result, len(clients))
	each(results, func(i int) {
		a, err := answer{}, ctx.Err()
		if err == nil {
			a, err = run(clients[i])
		}
		r := &results[i]
		*r = result{URL: clients[i].URL(), line: a.oneLine(), then: a.then, err: err} // not a itself, which holds the state
		if err != nil {
			exit, e := outcome(err)
			r.exit, r.Error, r.line = exit, &e, red.Render(strings.ReplaceAll(message(err), r.URL, "it"))
		} else if p.asJSON {
			r.Answer = a.value
		}
	})
	slices.SortStableFunc(results, func(a, b result) int { return min(a.exit, 1) - min(b.exit, 1) })
	all := answer{value: results, rest: func() {
		p.stdout.table(nil, mapped(results, func(r result) []string { return []string{r.URL, r.line} }))
	}, then: func(cause error) error {
		errs := make([]error, len(results))
		each(results, func(i int) {
			if then := results[i].then; then != nil {
				errs[i] = then(cause)
			}
		})
		return errors.Join(errs...)
	}}
	firstFailed := slices.IndexFunc(results, func(r result) bool { return r.err != nil })
	if firstFailed < 0 {
		return all, nil
	}
	failures := results[firstFailed:]
	differ := func(what func(result) any) bool {
		return slices.ContainsFunc(failures, func(r result) bool { return what(r) != what(failures[0]) })
	}
	failed := &commandError{fmt.Errorf("%d of %d processes failed", len(failures), len(results)), failures[0].exit, failures[0].Error.Code}
	switch {
	case differ(func(r result) any { return r.exit }):
		failed.exit, failed.code = exitFailed, "failed"
	case firstFailed == 0 && failed.exit == exitUsage && !differ(func(r result) any { return r.err.Error() }):
		return answer{}, failures[0].err // the command line is at fault, and no process
	}
	return all, failed
}

// each calls do with the index of each result, some of them at once.
func each(results []result, do func(int)) {
	var g errgroup.Group
	g.SetLimit(32)
	for i := range results {
		g.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = g.Wait()
}
