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

// NewHTTP returns what a [Client] sends its requests with. It follows no redirect: one that is
// followed would carry the token, or a change, to another place than the URL names.
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

// hearing has the connections that d makes be of type *conn.
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

// conn keeps the first bytes that the other side sends. net/http has many errors, most without
// a type, for one that does not speak HTTP, and which of them comes depends on whether it
// speaks before the request is sent; its first bytes tell in every case.
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

// heard returns the first bytes that came, and whether HTTP may begin so.
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
