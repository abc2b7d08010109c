// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// answering returns the URL of a server that gives every request the same answer.
func answering(t *testing.T, status int, contentType, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Basic")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnswerThatTheEndpointDoesNotGive(t *testing.T) {
	for name, test := range map[string]struct {
		status            int
		contentType, body string
		is                error
		text              string
	}{
		"page":                        {200, "text/html; charset=utf-8", "<html>\n <body>Log in", nil, `answers 200 OK with text/html that begins "<html> <body>Log in", which is not the JSON of the endpoint`},
		"page of a proxy":             {502, "text/html", "<html>", client.ErrUnreachable, "cannot reach http"},
		"page of a busy proxy":        {503, "text/html", "<html>", client.ErrUnreachable, "a proxy answers 503 Service Unavailable for it"},
		"page that forbids":           {403, "text/html", "<html>", client.ErrPermission, `answers 403 Forbidden with text/html that begins "<html>"; see that the endpoint is mounted there, and the path`},
		"basic authentication":        {401, "", "", client.ErrPermission, "answers 401 Unauthorized, which wants the credentials Basic, and an empty body"},
		"proxy with authentication":   {407, "", "", client.ErrPermission, "answers 407 Proxy Authentication Required and an empty body"},
		"empty body":                  {200, "application/json", "", nil, "answers 200 OK and an empty body"},
		"other JSON":                  {200, "application/json", `{"status":"ok"}`, nil, "answers with JSON that is not a state"},
		"list":                        {200, "application/json", `[]`, nil, "answers 200 OK with application/json that begins"},
		"null":                        {200, "application/json", `null`, nil, "not a state"},
		"field of another type":       {200, "application/json", `{"generation":7}`, nil, "which is not the JSON of the endpoint"},
		"half an answer":              {200, "application/json", `{"generation":"a`, nil, "which is not the JSON of the endpoint"},
		"generation that is too long": {200, "application/json", `{"generation":"` + strings.Repeat("a", 257) + `"}`, nil, "not a state"},
		"change that is too long":     {200, "application/json", `{"generation":"a","changes":[{"generation":"` + strings.Repeat("a", 257) + `"}]}`, nil, "not a state"},
		"control characters":          {200, ";", "\x1b[2J\u202e", nil, `with no content type that begins "\x1b[2J\u202e"`},
		"long body":                   {200, "text/plain", strings.Repeat("a", 1000), nil, `that begins "` + strings.Repeat("a", 60) + `"…`},
		"error without a code":        {500, "application/json", `{"error":"oops"}`, nil, "answers 500 Internal Server Error with application/json"},
		"status without a name":       {799, "text/plain", "?", nil, "answers 799 with text/plain"},
		"304 without a condition":     {304, "", "", nil, "304"},
		"redirect without a location": {302, "", "", nil, "answers 302 Found, which leads nowhere"},
		"deep JSON":                   {200, "application/json", strings.Repeat("[", 40), nil, "answers 200 OK with more than 32 levels of nesting, which is not read"},
		"endpoint further up":         {404, "application/json", `{"error":"there is no such path","code":"not_found"}`, nil, "answers that the endpoint is there, but further up; see the path"},
		"endpoint without controller": {503, "application/json", `{"error":"no controller","code":"unavailable"}`, nil, "refuses: no controller"},
	} {
		_, err := newClient(t, answering(t, test.status, test.contentType, test.body)).State(t.Context())
		var failed *client.Error
		require.ErrorAs(t, err, &failed, name)
		assert.Equal(t, test.status, failed.Status, name)
		assert.ErrorContains(t, err, test.text, name)
		assert.False(t, failed.Unanswered, name)
		for _, target := range []error{client.ErrUnreachable, client.ErrPermission, client.ErrStale} {
			assert.Equal(t, test.is == target, errors.Is(err, target), "%s: %v", name, target)
		}
	}
	_, err := newClient(t, answering(t, 201, "application/json", `{}`)).Lease(t.Context(), wire.LeaseRequest{})
	assert.ErrorContains(t, err, "answers with JSON that is not a lease")
	var failed *client.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 201, failed.Status)
}

// The text of an error does not grow with the answer.
func TestTextOfAnErrorIsBounded(t *testing.T) {
	long := strings.Repeat("é", 1<<16)
	for status, body := range map[int]string{
		400: `{"code":"bad_field","error":"` + long + `"}`,
		500: long,
	} {
		_, err := newClient(t, answering(t, status, "text/"+long, body)).State(t.Context())
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 4<<10)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var got []*http.Request
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r) }))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/x", status))
		for _, option := range []client.Option{nil, client.HTTPClient(new(http.Client))} {
			for _, err := range everyRequest(t.Context(), newClient(t, s.URL, client.Token("s3cret"), option)) {
				assert.ErrorContains(t, err, fmt.Sprintf("answers %d %s, which is not followed; if you trust %s/", status, http.StatusText(status), elsewhere.URL))
			}
		}
		s.Close()
	}
	assert.Empty(t, got)
}

func TestHTTPClientSendsTheRequests(t *testing.T) {
	p := newProcess(t)
	sent := 0
	h := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		return http.DefaultTransport.RoundTrip(r)
	})}
	_, err := newClient(t, p.url, client.HTTPClient(h)).State(t.Context())
	assert.NoError(t, err)
	assert.Equal(t, 1, sent)
	assert.Nil(t, h.CheckRedirect, "the program's own client stays as it is")
	_, err = newClient(t, p.url, client.HTTPClient(nil)).State(t.Context())
	assert.NoError(t, err)

	_, err = newClient(t, listening(t, func(c net.Conn) { readRequest(c); io.WriteString(c, "SSH-2.0-x\r\n") }), client.HTTPClient(h)).State(t.Context())
	assert.ErrorContains(t, err, "answers what makes no sense")
	_, err = newClient(t, listening(t, readRequest), client.HTTPClient(h)).State(t.Context())
	assert.ErrorIs(t, err, client.ErrUnreachable)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestEndsWithItsContext(t *testing.T) {
	address := listening(t, waitForClose)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the program ends")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	_, err := newClient(t, address).State(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "ended: the program ends")
	assert.NotErrorIs(t, err, client.ErrUnreachable)

	c := newClient(t, address)
	for i, err := range everyRequest(ctx, c) {
		var failed *client.Error
		require.ErrorAs(t, err, &failed)
		assert.False(t, failed.Unanswered, "%d: it was not sent", i)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err = c.ResetBaseline(ctx)
	assert.ErrorIs(t, err, client.ErrUnreachable)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "no answer in time; see that the process is well, or give it longer; the change may have been made all the same")
}

func TestChangeWithoutAnswerMayHaveBeenMade(t *testing.T) {
	for i, err := range everyRequest(t.Context(), newClient(t, listening(t, readRequest))) {
		var failed *client.Error
		require.ErrorAs(t, err, &failed)
		assert.ErrorIs(t, err, client.ErrUnreachable)
		reads := i < 2
		assert.Equal(t, !reads, failed.Unanswered)
		assert.Equal(t, !reads, strings.Contains(err.Error(), "; the change may have been made all the same, which the state shows"))
	}
	for _, err := range everyRequest(t.Context(), newClient(t, "localhost:1")) {
		assert.ErrorContains(t, err, "nothing listens there; see that the process runs, and the port")
		assert.NotContains(t, err.Error(), "the change", "nothing was sent")
	}
	begin, refusal := "HTTP/1.1 200 OK\r\n", `{"code":"bad_field"}`
	for answer, unanswered := range map[string]bool{
		begin + "Transfer-Encoding: chunked\r\n\r\nzz\r\n":         true,
		begin + "X: " + strings.Repeat("x", 100_000):               true,
		strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000): true,
		begin + "\r\n[" + strings.Repeat(",", 5<<20):               true,
		begin + "\r\n<html>":                                       true,
		begin + "\r\n{}":                                           true,
		"HTTP/1.1 500 Oops\r\n\r\n<html>":                          true,
		"HTTP/1.1 404 Not Found\r\n\r\n<html>":                     false,
		"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n":               false,
		"HTTP/1.1 503 Service Unavailable\r\n\r\n" + refusal:       false,
		"SSH-2.0-x\r\n":                                            false,
	} {
		for i, err := range everyRequest(t.Context(), newClient(t, listening(t, func(c net.Conn) { readRequest(c); io.WriteString(c, answer) }))) {
			var failed *client.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, unanswered && i >= 2, failed.Unanswered, "%d: %v", i, err)
		}
	}
	_, err := newClient(t, "nowhere.invalid").State(t.Context())
	assert.ErrorIs(t, err, client.ErrUnreachable)
	assert.ErrorContains(t, err, `no such host "nowhere.invalid"; see the spelling`)
}

// listening serves each connection to a port with serve, then closes it.
func listening(t *testing.T, serve func(net.Conn)) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(30 * time.Second)) // so that the test ends
				serve(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return l.Addr().String()
}

func readRequest(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

func waitForClose(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// A server that does not speak HTTP is told from one that does not answer, whether or not it
// sends anything before the request.
func TestPortThatDoesNotSpeakHTTP(t *testing.T) {
	const ssh = "SSH-2.0-OpenSSH_9.2p1\r\n"
	respond := func(texts ...string) func(net.Conn) {
		return func(c net.Conn) { readRequest(c); io.WriteString(c, strings.Join(texts, "")) }
	}
	const silent, closed, broken = "no answer within 300ms; see that the process is well, or give it longer", "closes the connection without an answer", "breaks off before the end of its answer"
	for name, test := range map[string]struct {
		serve       func(net.Conn)
		unreachable bool
		text        string
	}{
		"banner":                    {func(c net.Conn) { io.WriteString(c, ssh); waitForClose(c) }, false, `answers "SSH-2.0-OpenSSH_9.2p1\r\n", which is not HTTP; see the port`},
		"banner after the request":  {func(c net.Conn) { readRequest(c); io.WriteString(c, ssh); waitForClose(c) }, false, "which is not HTTP"},
		"banner, then the end":      {func(c net.Conn) { io.WriteString(c, ssh) }, false, ""}, // a reset may drop the banner
		"banner without a line end": {func(c net.Conn) { io.WriteString(c, "J\x00\x00\x00\n8.0.36"); waitForClose(c) }, false, `answers "J\x00\x00\x00\n8.0.36", which is not HTTP`},
		"one byte, and no end":      {func(c net.Conn) { readRequest(c); io.WriteString(c, "\x00"); waitForClose(c) }, false, `answers "\x00", which is not HTTP`},
		"HTTP/2 alone":              {func(c net.Conn) { io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"); waitForClose(c) }, false, "which is not HTTP"},
		"TLS alert":                 {respond("\x15\x03\x01\x00\x02\x02\x46"), false, "answers in TLS; write https:// if that is meant"},
		"bad header":                {respond("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), false, "answers what makes no sense"},
		"long header":               {respond("HTTP/1.1 200 OK\r\n", strings.Repeat("X-Line: x\r\n", 10_000)), false, "server response headers exceeded 65536 bytes"},
		"bad gzip":                  {respond("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}{}{}{}{}{}{}"), false, "answers what makes no sense: gzip: invalid header"},
		"end at once":               {func(net.Conn) {}, true, closed},
		"end after the request":     {readRequest, true, closed},
		"end within the header":     {respond("HTTP/1.1 200 OK\r\n"), true, broken},
		"end within the body":       {respond("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), true, broken},
		"silence":                   {waitForClose, true, silent},
		"silence within the status": {func(c net.Conn) { respond("HT")(c); waitForClose(c) }, true, silent},
		"silence within the body":   {func(c net.Conn) { respond("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")(c); waitForClose(c) }, true, silent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, listening(t, test.serve), client.HTTPClient(&http.Client{Timeout: 300 * time.Millisecond}))
			for range 3 {
				_, err := c.State(t.Context())
				require.Error(t, err)
				if test.text != "" || !errors.Is(err, client.ErrUnreachable) {
					assert.Equal(t, test.unreachable, errors.Is(err, client.ErrUnreachable), err)
					assert.ErrorContains(t, err, test.text)
				}
			}
		})
	}
}

func TestPortThatDoesNotSpeakTLS(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	ended := make(chan struct{})
	defer close(ended)
	for name, test := range map[string]struct {
		address     string
		unreachable bool
		text        string
	}{
		"HTTP":    {plain.Listener.Addr().String(), false, "answers in HTTP without TLS; write http:// if that is meant"},
		"SSH":     {listening(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n"); waitForClose(c) }), false, `answers "SSH-2", which is not TLS`},
		"end":     {listening(t, func(net.Conn) {}), true, "cannot reach https://"},
		"silence": {listening(t, func(net.Conn) { <-ended }), true, "no answer within 300ms"},
	} {
		_, err := newClient(t, "https://"+test.address, client.HTTPClient(&http.Client{Timeout: 300 * time.Millisecond})).State(t.Context())
		assert.Equal(t, test.unreachable, errors.Is(err, client.ErrUnreachable), name)
		assert.ErrorContains(t, err, test.text, name)
	}

	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	_, err := newClient(t, secret.Listener.Addr().String()).State(t.Context())
	assert.ErrorContains(t, err, "answers 400 Bad Request")
	assert.ErrorContains(t, err, "HTTPS server")
	_, err = newClient(t, secret.URL).State(t.Context())
	assert.ErrorIs(t, err, client.ErrUnreachable)
	assert.ErrorContains(t, err, "its certificate is not trusted")
	assert.ErrorContains(t, err, "SSL_CERT_FILE")
}

func TestEndpointOnIPv6BelowThePrefixOfAProxy(t *testing.T) {
	p := newProcess(t)
	l, err := net.Listen("tcp", "[::1]:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.StripPrefix("/a/b", control.Handler(p.Controller)), ReadHeaderTimeout: time.Minute}
	go s.Serve(l) //nolint:errcheck // it ends when it is closed
	defer s.Close()
	_, err = newClient(t, l.Addr().String()+"/a/b").State(t.Context())
	assert.NoError(t, err)
}
