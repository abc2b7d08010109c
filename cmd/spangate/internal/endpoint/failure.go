// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/spangate/spangate/cmd/spangate/internal/caret"
	"github.com/spangate/spangate/control/wire"
)

// Unreachable is a request to which no process has answered.
type Unreachable struct {
	URL string
	// Err says what happened and what to do.
	Err error
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach %s: %s", e.URL, caret.Short(e.Err.Error()))
}

func (e *Unreachable) Unwrap() error { return e.Err }

// Unexpected is an answer that the endpoint does not give: something else is at its URL.
type Unexpected struct {
	URL string
	// Status is that of the answer; 0 if it is not HTTP.
	Status int
	// What says how the answer differs and what to do.
	What string
}

func (e *Unexpected) Error() string { return fmt.Sprintf("%s answers %s", e.URL, e.What) }

// Refusal is an answer of the endpoint that refuses what was asked for. Nothing was changed.
type Refusal struct {
	URL    string
	Status int
	Body   wire.Error
}

func (e *Refusal) Error() string {
	return fmt.Sprintf("%s refuses: %s", e.URL, caret.Short(strings.TrimPrefix(e.Body.Message, "spangate/control: ")))
}

// explain returns the error of this package for err, the error with which an exchange ended. If
// the context was cancelled, it returns that. on is the connection, or nil if there was none.
func (c *Client) explain(err error, on *conn) error {
	var (
		wrong       *url.Error
		unexpected  *Unexpected
		unreachable *Unreachable
		refusal     *Refusal
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		network     *net.OpError
	)
	if errors.As(err, &wrong) {
		err = wrong.Err // the URL is said already
	}
	first, isHTTP := on.heard()
	switch {
	case errors.As(err, &unexpected), errors.As(err, &refusal), errors.As(err, &unreachable), errors.Is(err, context.Canceled):
		return err
	case strings.HasPrefix(string(first), alert):
		return c.unexpected(0, "in TLS; write https:// if that is meant")
	case !isHTTP:
		return c.unexpected(0, "%q, which is not HTTP; see the port", first)
	case errors.Is(err, http.ErrSchemeMismatch):
		return c.unexpected(0, "in HTTP without TLS; write http:// if that is meant")
	case errors.As(err, &record):
		return c.unexpected(0, "%q, which is not TLS; see the port", record.RecordHeader)
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		err = fmt.Errorf("no answer within %v; see that the process is well, or give it longer with --timeout", c.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		err = errors.New("nothing listens there; see that the process runs, and the port")
	case errors.As(err, &dns):
		err = fmt.Errorf("no such host %q; see the spelling", dns.Name)
	case errors.As(err, &certificate):
		err = fmt.Errorf("its certificate is not trusted: %w; SSL_CERT_FILE names a file with further authorities", err)
	case on == nil:
	case first == nil:
		err = errors.New("it closes the connection without an answer; see that the process is well, and the port")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		err = errors.New("the connection breaks off before the end of its answer; see that the process is well")
	default:
		return c.unexpected(0, "what makes no sense: %s; see that the endpoint is mounted there, and the port", caret.Short(err.Error()))
	}
	return &Unreachable{URL: c.URL.String(), Err: err}
}

// alert begins what a server that speaks TLS sends to a client that does not.
const alert = "\x15\x03"

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// gateway reports whether an answer says that a proxy reached no process.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}
