// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/cmd/spangate/internal/endpoint"
)

// Where a running process is, and what to say to it, without the flags.
const (
	envURL   = "SPANGATE_URL"
	envToken = "SPANGATE_TOKEN"
)

// target are the flags of a command on a running process.
type target struct {
	url       string
	tokenFile string
	timeout   time.Duration
	asJSON    bool
}

// flags adds the flags to a command; what says what the command prints.
func (t *target) flags(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.StringVar(&t.url, "url", "", "where the endpoint is, as in http://localhost:8080/spans/ (default $"+envURL+")")
	flags.StringVar(&t.tokenFile, "token-file", "", "`file` with the bearer token (default: the token in $"+envToken+")")
	flags.DurationVar(&t.timeout, "timeout", 10*time.Second, "how long a request may take")
	jsonFlag(flags, &t.asJSON, what)
	_ = cmd.RegisterFlagCompletionFunc("url", cobra.NoFileCompletions) // fails for a flag that there is not
}

// client returns a client of the endpoint that the flags and the environment name.
func (t *target) client() (*endpoint.Client, error) {
	text, by := t.url, "--url"
	if text == "" {
		text, by = os.Getenv(envURL), envURL
	}
	if strings.TrimSpace(text) == "" {
		return nil, usagef("which process? Give --url or set %s to where the endpoint is, as in http://localhost:8080/spans/", envURL)
	}
	at, err := endpoint.ParseURL(text)
	if err != nil {
		return nil, usagef("%s: %w", by, err)
	}
	if t.timeout <= 0 {
		return nil, usagef("--timeout %v: more than nothing, as in 10s", t.timeout)
	}
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	return &endpoint.Client{
		URL: at, Token: token, Timeout: t.timeout, Agent: "spangate/" + version(),
		HTTP: endpoint.NewHTTP(),
	}, nil
}

func (t *target) token() (endpoint.Token, error) {
	if t.tokenFile != "" {
		token, err := endpoint.ReadToken(t.tokenFile)
		if err != nil {
			return endpoint.Token{}, usagef("--token-file: %w", err)
		}
		return token, nil
	}
	token, err := endpoint.NewToken(os.Getenv(envToken))
	if err != nil {
		return endpoint.Token{}, usagef("%s: %w", envToken, err)
	}
	return token, nil
}

// condition is the flag of every change that is made only to a state that is known.
type condition struct{ generation string }

func (c *condition) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.generation, "if-match", "", "change nothing unless the state is of this `generation`, which get shows")
}

func (c *condition) check() error {
	if strings.ContainsFunc(c.generation, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' || r == '*' }) {
		return usagef("--if-match %q: no generation looks like that; get shows it", shorten(c.generation))
	}
	return nil
}

// checkText returns an error unless text is UTF-8, which JSON has to be: anything else would
// reach the process as another text.
func checkText(what, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return usagef("%s %s is not UTF-8 at byte %d", what, caret.Shown(shorten(text)), at)
}

// me returns the name of the user who runs the command, as far as the system knows.
func me() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// completions are the names that the process has registered; those of Gym if it does not
// answer at once, since a shell is waiting.
func (t *target) completions(cmd *cobra.Command) []name {
	state := t.stateNow(cmd.Context())
	if state == nil {
		var c catalog
		_ = c.Set("gym")
		return c.completions()
	}
	var names []name
	for _, p := range state.Presets {
		names = append(names, name{p.Name, p.Doc})
	}
	for _, g := range state.Groups {
		var docs []string
		for _, m := range g.Members {
			docs = append(docs, m.Doc)
		}
		names = append(names, name{g.Name, strings.Join(docs, "; ")})
	}
	return names
}

// completeID completes the id of a lease.
func (t *target) completeID(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var ids []cobra.Completion
	if state := t.stateNow(cmd.Context()); state != nil && len(args) == 0 {
		for _, l := range state.Leases {
			ids = append(ids, cobra.CompletionWithDesc(caret.Short(l.ID), fmt.Sprintf("%s of %s, %s left", subject(&l), caret.Short(l.Owner), left(l))))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// stateNow returns the state of the process, or nil.
func (t *target) stateNow(ctx context.Context) *endpoint.State {
	client, err := t.client()
	if err != nil {
		return nil
	}
	client.Timeout = min(client.Timeout, time.Second)
	state, err := client.Get(ctx, "")
	if err != nil {
		return nil
	}
	return state
}
