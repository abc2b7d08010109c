// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listening serves each connection to a port with serve, and closes it then.
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
				_ = c.SetDeadline(time.Now().Add(30 * time.Second)) // whatever the command does
				serve(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return l.Addr().String()
}

// request reads a request.
func request(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

// gone waits until the other side closes the connection.
func gone(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// The exit codes are those that the help gives: 1 for an answer that makes no sense, 3 for
// none. They don't depend on whether the port speaks before the request is sent.
func TestPortsThatDoNotSpeakHTTP(t *testing.T) {
	const ssh = "SSH-2.0-OpenSSH_9.2p1\r\n"
	for name, test := range map[string]struct {
		serve func(net.Conn)
		code  int
		want  string
	}{
		"a banner":                    {func(c net.Conn) { io.WriteString(c, ssh); gone(c) }, exitFailed, `answers "SSH-2.0-OpenSSH_9.2p1\r\n", which is not HTTP; see the port`},
		"a banner after the request":  {func(c net.Conn) { request(c); io.WriteString(c, ssh); gone(c) }, exitFailed, "which is not HTTP"},
		"a banner, then the end":      {func(c net.Conn) { io.WriteString(c, ssh) }, exitFailed, ""}, // a reset may take the banner away
		"a banner without a line end": {func(c net.Conn) { io.WriteString(c, "J\x00\x00\x00\n8.0.36"); gone(c) }, exitFailed, `answers "J\x00\x00\x00\n8.0.36", which is not HTTP`},
		"a byte, and no end":          {func(c net.Conn) { request(c); io.WriteString(c, "\x00"); gone(c) }, exitFailed, `answers "\x00", which is not HTTP`},
		"HTTP/2 alone":                {func(c net.Conn) { io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"); gone(c) }, exitFailed, "which is not HTTP"},
		"a TLS alert":                 {func(c net.Conn) { request(c); io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x46") }, exitFailed, "answers in TLS; write https:// if that is meant"},
		"a header that is none":       {func(c net.Conn) { request(c); io.WriteString(c, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n") }, exitFailed, "answers what makes no sense"},
		"gzip that is none": {func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}{}{}{}{}{}{}")
		}, exitFailed, "answers what makes no sense: gzip: invalid header"},
		"the end at once":           {func(net.Conn) {}, exitUnreachable, "closes the connection without an answer"},
		"the end after the request": {request, exitUnreachable, "closes the connection without an answer"},
		"the end amid the header":   {func(c net.Conn) { request(c); io.WriteString(c, "HTTP/1.1 200 OK\r\n") }, exitUnreachable, "breaks off before the end of its answer"},
		"the end amid the body":     {func(c net.Conn) { request(c); io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{") }, exitUnreachable, "breaks off before the end of its answer"},
		"silence":                   {gone, exitUnreachable, "no answer within 300ms; see that the process is well, or give it longer with --timeout"},
		"silence amid the status":   {func(c net.Conn) { request(c); io.WriteString(c, "HT"); gone(c) }, exitUnreachable, "no answer within 300ms"},
		"silence amid the body": {func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
			gone(c)
		}, exitUnreachable, "no answer within 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := listening(t, test.serve)
			for range 3 {
				stdout, stderr, code := ended(t, "get", "--url", address, "--timeout", "300ms")
				if test.want != "" || code != exitUnreachable {
					assert.Equal(t, test.code, code, stderr)
					assert.Contains(t, stderr, test.want)
				}
				assert.Empty(t, stdout)
			}
		})
	}
}

func TestPortsThatDoNotSpeakTLS(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, test := range map[string]struct {
		address string
		code    int
		want    string
	}{
		"HTTP":    {plain.Listener.Addr().String(), exitFailed, "answers in HTTP without TLS; write http:// if that is meant"},
		"SSH":     {listening(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n"); gone(c) }), exitFailed, `answers "SSH-2", which is not TLS`},
		"the end": {listening(t, func(net.Conn) {}), exitUnreachable, "cannot reach https://"},
		"silence": {listening(t, gone), exitUnreachable, "no answer within 300ms"},
	} {
		_, stderr, code := ended(t, "get", "--url", "https://"+test.address, "--timeout", "300ms")
		assert.Equal(t, test.code, code, "%s: %s", name, stderr)
		assert.Contains(t, stderr, test.want, name)
	}

	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	_, stderr, code := ended(t, "get", "--url", secret.Listener.Addr().String())
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "answers 400 Bad Request")
	assert.Contains(t, stderr, "HTTPS server")
}

// What a request has done is not known when its answer does not come.
func TestChangeWithoutAnswerMayHaveBeenMade(t *testing.T) {
	address := listening(t, request)
	for _, args := range [][]string{{"set", "all"}, {"reset"}, {"lease", "all", "--for", "1m"}, {"quiet", "all", "--for", "1m"}, {"extend", "x", "--for", "1m"}, {"release", "x"}} {
		_, stderr, code := ended(t, append(args, "--url", address)...)
		assert.Equal(t, exitUnreachable, code, args)
		assert.Contains(t, stderr, "the change may have been made all the same, which spangate get shows", args)
	}
	_, stderr, _ := ended(t, "get", "--url", address)
	assert.NotContains(t, stderr, "change")
	_, stderr, _ = ended(t, "set", "all", "--url", "localhost:1")
	assert.NotContains(t, stderr, "the change", "nothing was sent")
}
