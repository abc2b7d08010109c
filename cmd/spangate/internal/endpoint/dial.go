// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// maxHeader is the length in bytes of the longest header of an answer that is read.
const maxHeader = 64 << 10

// NewHTTP returns the HTTP client for [Client]. It follows no redirect, since that would send the
// token, or a change, to another host than the URL names.
func NewHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	t.DialContext = hearing(new(net.Dialer))
	t.DialTLSContext = hearing(new(tls.Dialer))
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// hearing returns a dial function that wraps the connections of d in a conn.
func hearing(d interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
}

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

// heard returns the first bytes from the server, and whether an HTTP answer can begin with them.
// A nil conn has heard nothing.
func (c *conn) heard() (first []byte, isHTTP bool) {
	if c == nil {
		return nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	const begin = "HTTP/"
	n := min(len(c.first), len(begin))
	return bytes.Clone(c.first), string(c.first[:n]) == begin[:n]
}
