// SPDX-License-Identifier: Apache-2.0

// Package client is a client of the endpoint of package control: it shows and changes which
// groups are on in a running process.
//
//	c, err := client.New("http://localhost:8080/spans/", client.Token(token))
//	…
//	lease, err := c.Lease(ctx, wire.LeaseRequest{Spec: "sandbox", Owner: "ann", TTL: "5m"})
//	…
//	_, err = c.Release(ctx, lease.ID)
//
// Requests and answers are the types of package wire, as they are in JSON: a client does not
// interpret what a process says, and a newer process may say more.
//
// A client trusts no answer: an answer must be of bounded size and of the endpoint's JSON. Redirects
// are not followed, since that would send the token to another host. A request that fails returns an
// [*Error], and one that can't be sent returns [ErrArgument]. A request ends with its context; one
// without a deadline may wait forever, unless [HTTPClient] sets a timeout.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// prefix begins the text of every error.
const prefix = "spangate/control/client: "

// Client talks to the endpoint at one URL. Any number of goroutines may use it. Requests of a
// nil Client or of one that [New] has not returned fail.
type Client struct {
	url  *url.URL
	http *http.Client
	// authorization returns the header of that name. It is a function so that printing a
	// Client does not print the token.
	authorization func() string
}

// State is the state of a process, as it answered.
type State struct {
	wire.State
	// JSON is the answer as it came, with the fields that this version does not know.
	JSON json.RawMessage `json:"-"`
}

// Lease is a lease, as the process answered.
type Lease struct {
	wire.Lease
	// JSON is the answer as it came, with the fields that this version does not know.
	JSON json.RawMessage `json:"-"`
}

// Option is an option of [New]. A nil one has no effect.
type Option func(*options)

type options struct {
	token string
	http  *http.Client
}

// Token sets the bearer token, which goes with every request. It is visible ASCII without
// space; an empty one is none.
func Token(token string) Option { return func(o *options) { o.token = token } }

// HTTPClient sets the client that sends the requests. Its Timeout, if it has one, is that of a
// whole request, and its CheckRedirect is not used. The default, also for a nil one, has no
// timeout. A client without a Transport gets that of this package, which tells a server that
// does not speak HTTP from one that does not answer.
func HTTPClient(c *http.Client) Option { return func(o *options) { o.http = c } }

// New returns a client of the endpoint that is mounted at a URL:
//
//	http://localhost:8080/spans/    the endpoint
//	http://localhost:8080/spans     the same
//	localhost:8080/spans            the same: without a scheme it is http
//	https://[2001:db8::1]/a/spans   below a prefix of a proxy
//
// A URL with a user, a query or a fragment is an error, and so is a token that no header can
// carry. New sends nothing.
func New(url string, opts ...Option) (*Client, error) {
	var o options
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	at, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if !visible(o.token) {
		return nil, badArgument("the token has space or other characters in it that no token has")
	}
	h := *cmp.Or(o.http, new(http.Client))
	if h.Transport == nil {
		h.Transport = transport()
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &Client{url: at, http: &h}
	if o.token != "" {
		c.authorization = func() string { return "Bearer " + o.token }
	}
	return c, nil
}

// visible reports whether text is visible ASCII without space.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func parseURL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which may hold a password
	}
	switch {
	case err != nil:
	case u.User != nil:
		err = errors.New("it has a user in it; a token says who you are")
	case u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("the scheme %q is not http or https", spec.Head(u.Scheme))
	case u.Hostname() == "":
		err = errors.New("it names no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		err = errors.New("it has a query or fragment; give the path under which the endpoint is mounted")
	}
	if err != nil {
		return nil, badArgument("bad URL: %w; write it as in http://localhost:8080/spans/", err)
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	if u.RawPath != "" {
		u.RawPath = strings.TrimRight(u.RawPath, "/") + "/"
	}
	return u, nil
}

// URL returns the URL of the endpoint, which ends in a slash. It is empty for a nil Client.
func (c *Client) URL() string {
	if c == nil || c.url == nil {
		return ""
	}
	return c.url.String()
}

// State returns the state of the process.
func (c *Client) State(ctx context.Context) (*State, error) {
	return c.state(ctx, request{method: http.MethodGet})
}

// StateSince returns the state of the process, and true, unless it still is of the given
// generation: then the process answers without a body, and StateSince returns nil and false.
// If the process counts spans by scope, or once a state of this generation has had Roots, it always
// sends the state, since these may change within a generation. An empty generation matches none. A program that follows a process calls it
// periodically.
func (c *Client) StateSince(ctx context.Context, generation string) (s *State, changed bool, err error) {
	r := request{method: http.MethodGet}
	if generation != "" {
		r.condition, r.generation = "If-None-Match", generation
	}
	s, err = c.state(ctx, r)
	return s, s != nil, err
}

// ChangeOption is an option of a change. A nil one has no effect.
type ChangeOption func(*request)

// IfMatch makes the process refuse a change with [ErrStale] unless its state is of this
// generation, which is that of a [State], with or without the quotes of an entity tag. An empty
// one is an error.
func IfMatch(generation string) ChangeOption {
	return func(r *request) { r.condition, r.generation = "If-Match", generation }
}

// SetBaseline makes b the baseline of the process, and returns the state that follows.
func (c *Client) SetBaseline(ctx context.Context, b wire.Baseline, opts ...ChangeOption) (*State, error) {
	return c.state(ctx, request{method: http.MethodPut, body: b}, opts...)
}

// ResetBaseline goes back to the start-up baseline, and returns the state that follows. Leases
// stay.
func (c *Client) ResetBaseline(ctx context.Context, opts ...ChangeOption) (*State, error) {
	return c.state(ctx, request{method: http.MethodDelete}, opts...)
}

// Lease requests a lease.
func (c *Client) Lease(ctx context.Context, r wire.LeaseRequest, opts ...ChangeOption) (*Lease, error) {
	return c.lease(ctx, request{method: http.MethodPost, path: "leases", body: r}, opts...)
}

// Renew lets a lease live for ttl from now on, longer or shorter than before. A lease that has
// ended is [ErrNotFound].
func (c *Client) Renew(ctx context.Context, id string, ttl time.Duration, opts ...ChangeOption) (*Lease, error) {
	return c.lease(ctx, request{method: http.MethodPatch, path: leasePrefix + id, body: wire.LeasePatch{TTL: ttl.String()}}, opts...)
}

// Release ends a lease, and returns it. A lease that has ended before is [ErrNotFound].
func (c *Client) Release(ctx context.Context, id string, opts ...ChangeOption) (*Lease, error) {
	return c.lease(ctx, request{method: http.MethodDelete, path: leasePrefix + id}, opts...)
}

// leasePrefix begins the path of each lease, below that of the endpoint.
const leasePrefix = "leases/"

// maxGeneration is the length in bytes of the longest generation that is accepted: many times
// that of a real one, so that a program can remember many.
const maxGeneration = 256

func (c *Client) state(ctx context.Context, r request, opts ...ChangeOption) (*State, error) {
	var s State
	var err error
	if s.JSON, err = c.send(ctx, r, &s, opts...); err != nil || s.JSON == nil {
		return nil, err
	}
	return &s, nil
}

func (c *Client) lease(ctx context.Context, r request, opts ...ChangeOption) (*Lease, error) {
	var l Lease
	var err error
	if l.JSON, err = c.send(ctx, r, &l, opts...); err != nil {
		return nil, err
	}
	return &l, nil
}

// answer is what the JSON of an answer is decoded into.
type answer interface {
	// mismatch returns what the JSON should have been, or "" if it was that.
	mismatch() string
}

func (s *State) mismatch() string {
	long := func(c wire.Change) bool { return len(c.Generation) > maxGeneration }
	if s.Generation == "" || len(s.Generation) > maxGeneration || slices.ContainsFunc(s.Changes, long) {
		return "a state"
	}
	return ""
}

func (l *Lease) mismatch() string {
	if l.ID == "" {
		return "a lease"
	}
	return ""
}

// request is what to send.
type request struct {
	method, path          string
	body                  any    // nil for none
	condition, generation string // a header with the generation, or none
}

// check returns an error if the id or generation could turn the request into another one.
func (r request) check() error {
	generation := strings.Trim(r.generation, `"`)
	if id, ok := strings.CutPrefix(r.path, leasePrefix); ok && (strings.Trim(id, ".") == "" || !visible(id) || strings.ContainsAny(id, `/\%?#`)) {
		return badArgument("%q is no id of a lease; a State has them", spec.Head(id))
	}
	if r.condition != "" && (generation == "" || !visible(generation) || strings.ContainsAny(generation, `",*`)) {
		return badArgument("%s %q: no generation looks like that; a State has it", r.condition, spec.Head(r.generation))
	}
	return nil
}

// send sends r, decodes the answer into v, and returns its JSON as it came. The JSON is nil if
// nothing has changed (304).
func (c *Client) send(ctx context.Context, r request, v answer, opts ...ChangeOption) (json.RawMessage, error) {
	if c == nil || c.http == nil {
		return nil, badArgument("a Client that New has not returned has no URL")
	}
	if ctx == nil {
		return nil, badArgument("nil context")
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&r)
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	var l link
	req, err := c.request(httptrace.WithClientTrace(ctx, l.trace()), r)
	if err != nil {
		return nil, fmt.Errorf(prefix+"%w", err)
	}
	body, err := c.exchange(req, v)
	if err == nil {
		return body, nil
	}
	failed := c.explain(ctx, err, &l)
	_, isHTTP := l.firstBytes()
	refused := failed.Refusal.Code != "" || failed.Status >= 300 && failed.Status < 500
	failed.Unanswered = l.connected && isHTTP && r.method != http.MethodGet && !refused
	return nil, failed
}

func (c *Client) request(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url.String()+r.path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "spangate")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.authorization != nil {
		req.Header.Set("Authorization", c.authorization())
	}
	if r.condition != "" {
		req.Header.Set(r.condition, `"`+strings.Trim(r.generation, `"`)+`"`)
	}
	return req, nil
}

// exchange sends req, and decodes the answer into v.
func (c *Client) exchange(req *http.Request, v answer) (json.RawMessage, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && req.Header.Get("If-None-Match") != "" {
		return nil, nil
	}
	body, err := io.ReadAll(&bounded{r: resp.Body})
	if large := (*tooLarge)(nil); errors.As(err, &large) {
		return nil, c.unexpected(resp.StatusCode, "%s with %v, which is not read%s", status(resp), large, checkMount)
	}
	if err != nil {
		return nil, err
	}
	return body, c.decode(resp, body, v)
}
