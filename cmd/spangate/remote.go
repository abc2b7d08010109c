// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/internal/spec"
)

// The environment in place of the flags --url and --token-file.
const (
	envURL   = "SPANGATE_URL"
	envToken = "SPANGATE_TOKEN"
)

// remote is a command on a running process: its flags, and the client that they lead to.
type remote struct {
	*program
	*client.Client
	ctx                     context.Context
	url, tokenFile, ifMatch string
	timeout                 time.Duration
	asJSON                  *bool
}

// remote makes cmd a command on a running process. shows says what the command prints; changes
// reports whether it makes a change, which may be conditional.
func (p *program) remote(cmd *cobra.Command, shows string, changes bool, run func(*remote, []string) error) *cobra.Command {
	r := &remote{program: p, asJSON: jsonFlag(cmd, shows)}
	flags := cmd.Flags()
	flags.StringVar(&r.url, "url", "", "where the endpoint is, as in http://localhost:8080/spans/ (default $"+envURL+")")
	flags.StringVar(&r.tokenFile, "token-file", "", "`file` with the bearer token (default: the token in $"+envToken+")")
	flags.DurationVar(&r.timeout, "timeout", 10*time.Second, "how long a request may take")
	if changes {
		flags.StringVar(&r.ifMatch, "if-match", "", "change nothing unless the state is of this `generation`, which get shows")
	}
	completeFlag(cmd, "url")
	arguments(cmd, r.names, r.completeID)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		r.ctx = cmd.Context()
		if r.Client, err = r.client(); err != nil {
			return err
		}
		return run(r, args)
	}
	return cmd
}

// client returns a client of the endpoint that the flags and the environment name.
func (r *remote) client() (*client.Client, error) {
	url, by := r.url, "--url"
	if url == "" {
		url, by = os.Getenv(envURL), envURL
	}
	if strings.TrimSpace(url) == "" {
		return nil, usagef("which process? Give --url or set %s to where the endpoint is, as in http://localhost:8080/spans/", envURL)
	}
	if _, err := client.New(url); err != nil {
		return nil, usagef("%s: %w", by, err)
	}
	if r.timeout <= 0 {
		return nil, usagef("--timeout %v: more than nothing, as in 10s", r.timeout)
	}
	token, by, err := r.token()
	if err != nil {
		return nil, usagef("%s: %w", by, err)
	}
	c, err := client.New(url, client.Token(token), client.HTTPClient(&http.Client{Timeout: r.timeout}))
	if err != nil {
		return nil, usagef("%s: %w", by, err)
	}
	return c, nil
}

// token returns the bearer token, or an empty one, and where it is from.
func (r *remote) token() (token, by string, err error) {
	if r.tokenFile == "" {
		return strings.TrimSpace(os.Getenv(envToken)), envToken, nil
	}
	const most = 16 << 10
	by = "--token-file"
	f, err := os.Open(r.tokenFile)
	if err != nil {
		return "", by, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	token = strings.TrimSpace(string(b))
	switch {
	case err != nil:
	case len(b) > most:
		err = fmt.Errorf("%s is longer than %d bytes, which no token is", r.tokenFile, most)
	case token == "":
		err = fmt.Errorf("%s is empty", r.tokenFile)
	}
	return token, by, err
}

// when returns the condition of a change.
func (r *remote) when() client.ChangeOption {
	if r.ifMatch == "" {
		return nil
	}
	return client.IfMatch(r.ifMatch)
}

// checkText returns an error if a text is not UTF-8, which JSON is: the process would get
// another text.
func checkText(what, text string) error {
	for i, c := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && size == 1 {
			return usagef("%s %s is not UTF-8 at byte %d", what, escape(spec.Head(text)), i)
		}
	}
	return nil
}

// userName returns the name of the user who runs the command, as far as the system knows.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
