// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// maxHeader is the length in bytes of the longest header of an answer that is read.
const maxHeader = 64 << 10

// transport returns the transport that clients share.
var transport = sync.OnceValue(func() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok { // unless a program has replaced it
		t = standard.Clone()
	}
	t.MaxResponseHeaderBytes = maxHeader
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
	return t
})

// conn is a connection that keeps the first bytes that the server sends. They show whether the
// server speaks HTTP. The errors of net/http don't: for a server that does not, they are of many
// kinds, most have no type, and they depend on whether it sends anything before the request.
type conn struct {
	net.Conn
	mu    sync.Mutex
	first []byte
}

const maxFirst = 32

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = append(c.first, p[:min(n, maxFirst-len(c.first))]...)
	return n, err
}

// link is the connection that a request was sent over, if there was one.
type link struct {
	connected bool
	conn      *conn // nil if the connection is in TLS, or is not of [transport]
}

// trace returns the hooks that set l.
func (l *link) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		l.connected = true
		l.conn, _ = got.Conn.(*conn)
	}}
}

// firstBytes returns the first bytes from the server, and whether an HTTP answer can begin with
// them. Without a conn there are none.
func (l *link) firstBytes() (first []byte, isHTTP bool) {
	if l.conn == nil {
		return nil, true
	}
	l.conn.mu.Lock()
	defer l.conn.mu.Unlock()
	const begin = "HTTP/"
	n := min(len(l.conn.first), len(begin))
	return bytes.Clone(l.conn.first), string(l.conn.first[:n]) == begin[:n]
}
