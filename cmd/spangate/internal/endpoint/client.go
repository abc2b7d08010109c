// SPDX-License-Identifier: Apache-2.0

// Package endpoint is a client of the endpoint of package control: its requests, and every
// way in which they can fail, told apart. It trusts no answer: each has to come in time, be
// of bounded size and be what the endpoint answers.
package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/control/wire"
)

// Client talks to the endpoint at one URL. Its zero value has no URL and must not be used; it
// may be copied, and used by any number of goroutines.
type Client struct {
	// URL is where the endpoint is mounted, as [ParseURL] returns it.
	URL *url.URL
	// Token goes with every request to URL, and with none to anywhere else.
	Token Token
	// Timeout is how long a whole exchange may take.
	Timeout time.Duration
	// HTTP sends the requests; see [NewHTTP].
	HTTP *http.Client
	// Agent is the header User-Agent.
	Agent string
}

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
	var on *conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { on, _ = got.Conn.(*conn) },
	})
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	answer, err := c.exchange(req, into)
	if err == nil && ctx.Err() == nil {
		return answer, nil
	}
	err = c.explain(cmp.Or(err, ctx.Err()), on)
	var unreachable *Unreachable
	if r.method != http.MethodGet && on != nil && (errors.As(err, &unreachable) || errors.Is(err, context.Canceled)) {
		err = fmt.Errorf("%w; the change may have been made all the same, which spangate get shows", err)
	}
	return nil, err
}

// exchange sends req, and reads and decodes the answer.
func (c *Client) exchange(req *http.Request, into any) (json.RawMessage, error) {
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && req.Header.Get("If-None-Match") != "" {
		return nil, nil
	}
	body, err := io.ReadAll(&bounded{r: resp.Body})
	var large *tooLarge
	switch {
	case errors.As(err, &large):
		return nil, c.unexpected(resp.StatusCode, "%s with %v, which is not read; see that the endpoint is mounted there, and the path", status(resp), large)
	case err != nil:
		return nil, err
	}
	return body, c.judge(resp, body, into)
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
func (c *Client) judge(resp *http.Response, body []byte, into any) error {
	var refusal wire.Error
	known := resp.StatusCode >= 400 && json.Unmarshal(body, &refusal) == nil && refusal.Code != ""
	switch {
	case known && refusal.Code == wire.CodeNotFound && !strings.HasPrefix(resp.Request.URL.Path, c.URL.Path+leasePath("")):
		return c.unexpected(resp.StatusCode, "that the endpoint is there, but further up; see the path")
	case known:
		return &Refusal{URL: c.URL.String(), Status: resp.StatusCode, Body: refusal}
	case gateway(resp.StatusCode):
		return &Unreachable{URL: c.URL.String(), Err: fmt.Errorf("a proxy answers %s for it", status(resp))}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		to, err := resp.Location()
		if err != nil {
			return c.unexpected(resp.StatusCode, "%s, which leads nowhere", status(resp))
		}
		return c.unexpected(resp.StatusCode, "%s, which is not followed; if you trust %s, use that", status(resp), caret.Short(to.Redacted()))
	case resp.StatusCode >= 300:
		return c.unexpected(resp.StatusCode, "%s%s%s; see that the endpoint is mounted there, and the path", status(resp), challenge(resp), excerpt(resp, body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return c.unexpected(resp.StatusCode, "%s%s, which is not the JSON of the endpoint; see that the endpoint is mounted there, and the path", status(resp), excerpt(resp, body))
	}
	return nil
}

func (c *Client) unexpected(status int, format string, args ...any) error {
	return &Unexpected{URL: c.URL.String(), Status: status, What: fmt.Sprintf(format, args...)}
}

// status returns the status of an answer with the standard's text for it. The text in the answer
// itself is not trusted.
func status(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
}

// challenge says which credentials an answer wants, if it says so.
func challenge(resp *http.Response) string {
	if wants := resp.Header.Get("WWW-Authenticate"); wants != "" {
		return fmt.Sprintf(", which wants the credentials %s,", caret.Short(wants))
	}
	return ""
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
	return fmt.Sprintf(" with %s that begins %q%s", caret.Short(mediaType), string(begin), dots)
}
