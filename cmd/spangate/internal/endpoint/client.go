// SPDX-License-Identifier: Apache-2.0

// Package endpoint is a client of the endpoint of package control: its requests, and every
// way in which they can fail, told apart. It trusts no answer: each has to come in time, be
// of bounded length and be what the endpoint answers.
package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/control/wire"
)

// maxAnswer is the length in bytes of the longest answer that is read. That of ten thousand
// leases on all of fifteen groups takes ten million.
const maxAnswer = 64 << 20

// Client talks to the endpoint at one URL. Its zero value has no URL and must not be used; it
// may be copied, and used by any number of goroutines.
type Client struct {
	// URL is where the endpoint is mounted, as [ParseURL] returns it.
	URL *url.URL
	// Token goes with every request to URL, and with none to anywhere else.
	Token Token
	// Timeout is how long a whole exchange may take.
	Timeout time.Duration
	// HTTP sends the requests. It must not follow redirects; see [NoRedirects].
	HTTP *http.Client
	// Agent is the header User-Agent.
	Agent string
}

// NoRedirects makes a redirect an answer like any other: one that is followed would carry the
// token, or a change, to where nobody sent it.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// request is what to send.
type request struct {
	method, path string
	body         any    // nil for none
	ifMatch      string // a generation, or empty
	ifNoneMatch  string // a generation, or empty
}

// send sends r and decodes the answer into into, of which it returns the JSON as it came. It
// is nil if nothing has changed since ifNoneMatch.
func (c *Client) send(ctx context.Context, r request, into any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, unreachable(c.URL, err, c.Timeout)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, unreachable(c.URL, err, c.Timeout)
	}
	if resp.StatusCode == http.StatusNotModified && r.ifNoneMatch != "" {
		return nil, nil
	}
	return body, c.judge(r, resp, body, into)
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
	req, err := http.NewRequestWithContext(ctx, r.method, c.URL.String()+r.path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.Agent)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != (Token{}) {
		req.Header.Set("Authorization", "Bearer "+c.Token.secret)
	}
	if r.ifMatch != "" {
		req.Header.Set("If-Match", tag(r.ifMatch))
	}
	if r.ifNoneMatch != "" {
		req.Header.Set("If-None-Match", tag(r.ifNoneMatch))
	}
	return req, nil
}

// tag returns the entity tag of a generation, which may be given as a tag already.
func tag(generation string) string { return `"` + strings.Trim(generation, `"`) + `"` }

// judge decodes an answer into into if it is one that the endpoint gives to a request that it
// does not refuse, and returns what else it is otherwise.
func (c *Client) judge(r request, resp *http.Response, body []byte, into any) error {
	stranger := func(format string, args ...any) error {
		return &Stranger{URL: c.URL.String(), Status: resp.StatusCode, What: fmt.Sprintf(format, args...)}
	}
	if len(body) > maxAnswer {
		return stranger("with more than %d MiB; that is not read", maxAnswer>>20)
	}
	var refusal wire.Error
	known := resp.StatusCode >= 400 && json.Unmarshal(body, &refusal) == nil && refusal.Code != ""
	switch {
	case known && refusal.Code == wire.CodeNotFound && !strings.HasPrefix(r.path, leasePath("")):
		return stranger("that the endpoint is there, but further up; see the path")
	case known:
		return &Refusal{URL: c.URL.String(), Status: resp.StatusCode, Body: refusal}
	case gateway(resp.StatusCode):
		return &Unreachable{URL: c.URL.String(), Err: fmt.Errorf("a proxy answers %s for it", status(resp))}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		to, err := resp.Location()
		if err != nil {
			return stranger("%s, which leads nowhere", status(resp))
		}
		return stranger("%s, which is not followed; if you trust %s, use that", status(resp), caret.Shown(to.Redacted()))
	case resp.StatusCode >= 300:
		return stranger("%s%s; see that the endpoint is mounted there, and the path", status(resp), excerpt(resp, body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return stranger("%s%s, which is not the JSON of the endpoint; see that the endpoint is mounted there, and the path", status(resp), excerpt(resp, body))
	}
	return nil
}

// status returns the status of an answer in the words of the standard, not in those of
// whoever sent it.
func status(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
}

// excerpt says what an answer is that can't be read, and shows how it begins.
func excerpt(resp *http.Response, body []byte) string {
	const most = 60
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = "no content type"
	}
	begin := []rune(strings.Join(strings.Fields(string(body[:min(len(body), 4*most)])), " "))
	if len(begin) == 0 {
		return " and an empty body"
	}
	dots := ""
	if len(begin) > most {
		begin, dots = begin[:most], "…"
	}
	return fmt.Sprintf(" with %s that begins %q%s", caret.Shown(mediaType), string(begin), dots)
}
