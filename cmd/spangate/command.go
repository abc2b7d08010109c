// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/client"
)

// answer is what a command shows: value as JSON, or what draw writes for people. The zero value
// shows nothing.
type answer struct {
	value any
	draw  func()
}

func (p *program) show(a answer) {
	switch {
	case a.draw == nil:
	case p.asJSON:
		p.stdout.json(a.value, "  ")
	default:
		a.draw()
	}
}

// command makes cmd show what run returns for its argument, or for "" if it takes none.
// candidates returns what that argument may be, for completion.
func (p *program) command(cmd *cobra.Command, candidates func(*cobra.Command) []cobra.Completion, run func(context.Context, string) (answer, error)) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = checkArgs, completeArg(candidates)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p.started = true
		a, err := run(cmd.Context(), cmd.Flags().Arg(0))
		if err == nil {
			p.show(a)
		}
		return err
	}
	return cmd
}

// offline makes cmd a command on a catalog.
func (p *program) offline(cmd *cobra.Command, run func(*spangate.Catalog, string) (answer, error)) *cobra.Command {
	catalog := spangate.Gym
	cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\n" + vocabularies
	cmd.Flags().Func("catalog", "vocabulary, `gym|lens`: gym is NeMo Gym's, lens is nemo-lens's (default gym)", func(name string) error {
		var known bool
		if catalog, known = map[string]*spangate.Catalog{"gym": spangate.Gym, "lens": spangate.Lens}[strings.ToLower(name)]; !known {
			return errors.New("there is no such catalog; there are gym (NeMo Gym) and lens (nemo-lens)")
		}
		return nil
	})
	completeFlag(cmd, "catalog", "gym\tNeMo Gym's", "lens\tnemo-lens's")
	names := func(*cobra.Command) []cobra.Completion { return names(catalog) }
	return p.command(cmd, names, func(_ context.Context, arg string) (answer, error) { return run(catalog, arg) })
}

// The environment in place of the flags --url and --token-file.
const (
	envURL   = "SPANGATE_URL"
	envToken = "SPANGATE_TOKEN"
)

// remote is a command on a running process: its flags, and the client that they lead to.
type remote struct {
	*program
	*client.Client
	ctx            context.Context
	url, tokenFile string
	timeout        time.Duration
	condition      client.ChangeOption // of a change, or nil
}

// remote makes cmd a command on a running process. changes reports whether it makes a change,
// which may be conditional.
func (p *program) remote(cmd *cobra.Command, changes bool, run func(*remote, string) (answer, error)) *cobra.Command {
	r := &remote{program: p}
	flags := cmd.Flags()
	flags.StringVar(&r.url, "url", "", "where the endpoint is, as in http://localhost:8080/spans/ (default $"+envURL+")")
	flags.StringVar(&r.tokenFile, "token-file", "", "`file` with the bearer token (default: the token in $"+envToken+")")
	flags.DurationVar(&r.timeout, "timeout", 10*time.Second, "how long a request may take")
	if changes {
		flags.Func("if-match", "change nothing unless the state is of this `generation`, which get shows", func(generation string) error {
			r.condition = client.IfMatch(generation)
			return nil
		})
	}
	completeFlag(cmd, "url")
	return p.command(cmd, r.candidates, func(ctx context.Context, arg string) (_ answer, err error) {
		if r.Client, err = r.client(); err != nil {
			return answer{}, err
		}
		r.ctx = ctx
		return run(r, arg)
	})
}

// client returns a client of the endpoint that the flags and the environment name.
func (r *remote) client() (*client.Client, error) {
	url := cmp.Or(r.url, os.Getenv(envURL))
	token, err := strings.TrimSpace(os.Getenv(envToken)), error(nil)
	if r.tokenFile != "" {
		token, err = readToken(r.tokenFile)
	}
	switch {
	case strings.TrimSpace(url) == "":
		return nil, usagef("which process? Give --url or set %s to where the endpoint is, as in http://localhost:8080/spans/", envURL)
	case r.timeout <= 0:
		return nil, usagef("--timeout %v: more than nothing, as in 10s", r.timeout)
	case err != nil:
		return nil, usagef("--token-file: %w", err)
	}
	return client.New(url, client.Token(token), client.HTTPClient(&http.Client{Timeout: r.timeout}))
}

// readToken returns the bearer token in a file.
func readToken(name string) (string, error) {
	const most = 16 << 10
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	token := strings.TrimSpace(string(b))
	switch {
	case err == nil && len(b) > most:
		err = fmt.Errorf("%s is longer than %d bytes, which no token is", name, most)
	case err == nil && token == "":
		err = fmt.Errorf("%s is empty", name)
	}
	return token, err
}

// reasonFlags adds the flags that set, lease and quiet share.
func reasonFlags(cmd *cobra.Command, why *string, allowPending *bool) {
	cmd.Flags().StringVar(why, "why", "", "the reason, which get and the process's log show")
	cmd.Flags().BoolVar(allowPending, "allow-pending", false, "keep names that are not registered until they are")
}

// checkUTF8 returns an error if a text is not UTF-8, which JSON would change. Its arguments are
// pairs of a name and a text.
func checkUTF8(namesAndTexts ...string) error {
	for pair := range slices.Chunk(namesAndTexts, 2) {
		if !utf8.ValidString(pair[1]) {
			return usagef("%s %s is not UTF-8", pair[0], short(pair[1]))
		}
	}
	return nil
}

// orUser returns name or, if it is empty, that of the user who runs the command, if it is known.
func orUser(name string) string {
	if u, err := user.Current(); err == nil {
		return cmp.Or(name, u.Username)
	}
	return name
}
