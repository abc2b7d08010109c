// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/spangate/spangate/control/wire"
)

// ErrArgument is an argument that no request can have: a bad URL, token, generation or id of a
// lease, a nil context, or a Client that [New] has not returned. Nothing is sent.
var ErrArgument = errors.New("bad argument")

// argumentError is an [ErrArgument] whose text does not repeat that.
type argumentError struct{ error }

func (argumentError) Is(target error) bool { return target == ErrArgument }
func (e argumentError) Unwrap() error      { return e.error }

func badArgument(format string, args ...any) error {
	return argumentError{fmt.Errorf(prefix+format, args...)}
}

// The failures that a caller may act on. An [*Error] is at most one of them, by [errors.Is].
var (
	// ErrUnreachable is a request that no process has answered in time. Before it is sent again,
	// see [Error.Unanswered].
	ErrUnreachable = errors.New("unreachable")
	// ErrPermission is a request that is not permitted. If the [Error.Status] is 401 or 407,
	// credentials are missing or wrong; if it is 403, they do not permit it, or the process has
	// no authoriser.
	ErrPermission = errors.New("not permitted")
	// ErrStale is a change whose [IfMatch] is not the generation of the state any more. Get the
	// state again, and decide again.
	ErrStale = errors.New("stale")
	// ErrNotFound is a lease that has ended, or never was.
	ErrNotFound = errors.New("no such lease")
)

// Error is a request that has failed. A request that was refused has changed nothing. The text
// may repeat at most a few KiB of the server's text, unescaped. The zero value is an error without
// a reason.
type Error struct {
	// URL is that of the endpoint.
	URL string
	// Status is the status of the answer, or 0 if there was none in HTTP.
	Status int
	// Refusal is the answer of an endpoint that refuses. Its Code is empty if the endpoint
	// has not answered.
	Refusal wire.Error
	// Unanswered reports that the request is a change that may have been made: it was sent, and
	// there is neither a refusal nor a success that can be read. A status of 300 to 499 is a
	// refusal, also of a proxy, and so is an answer that is not HTTP.
	Unanswered bool

	unreachable bool
	text        string // without the prefix
	err         error
}

func (e *Error) Error() string {
	text := prefix + e.text
	if e.Unanswered {
		text += "; the change may have been made all the same, which the state shows"
	}
	return text
}

// Is reports whether e is target, one of [ErrUnreachable] and the other failures.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrUnreachable:
		return e.unreachable
	case ErrPermission:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusProxyAuthRequired
	case ErrStale:
		return e.Refusal.Code == wire.CodeStale
	case ErrNotFound:
		return e.Refusal.Code == wire.CodeNotFound
	}
	return false
}

// Unwrap returns the cause, such as [context.Canceled] or an error of package net. It is nil if
// the cause is an answer.
func (e *Error) Unwrap() error { return e.err }

// checkMount ends the text on an answer that is not one of the endpoint.
const checkMount = "; see that the endpoint is mounted there, and the path"

func (c *Client) unexpected(status int, format string, args ...any) *Error {
	return &Error{URL: c.URL(), Status: status, text: c.URL() + " answers " + fmt.Sprintf(format, args...)}
}

func (c *Client) unreachable(err error, format string, args ...any) *Error {
	return &Error{URL: c.URL(), err: err, unreachable: true, text: fmt.Sprintf("cannot reach %s: %s", c.URL(), head(fmt.Sprintf(format, args...)))}
}

// decode decodes the body of a successful answer of the endpoint into v. For any other answer it
// returns an [*Error] that says what it is.
func (c *Client) decode(resp *http.Response, body []byte, v answer) error {
	var refusal wire.Error
	known := resp.StatusCode >= 400 && json.Unmarshal(body, &refusal) == nil && refusal.Code != ""
	switch {
	case known && refusal.Code == wire.CodeNotFound && !strings.HasPrefix(resp.Request.URL.Path, c.url.Path+leasePrefix):
		return c.unexpected(resp.StatusCode, "that the endpoint is there, but further up; see the path")
	case known:
		message := strings.TrimPrefix(refusal.Message, "spangate/control: ")
		return &Error{URL: c.URL(), Status: resp.StatusCode, Refusal: refusal, text: c.URL() + " refuses: " + head(message)}
	case resp.StatusCode == http.StatusBadGateway, resp.StatusCode == http.StatusServiceUnavailable, resp.StatusCode == http.StatusGatewayTimeout:
		e := c.unreachable(nil, "a proxy answers %s for it", status(resp))
		e.Status = resp.StatusCode
		return e
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		to, err := resp.Location()
		if err != nil {
			return c.unexpected(resp.StatusCode, "%s, which leads nowhere", status(resp))
		}
		return c.unexpected(resp.StatusCode, "%s, which is not followed; if you trust %s, use that", status(resp), head(to.Redacted()))
	case resp.StatusCode >= 300:
		challenge := resp.Header.Get("WWW-Authenticate")
		if challenge != "" {
			challenge = fmt.Sprintf(", which wants the credentials %s,", head(challenge))
		}
		return c.unexpected(resp.StatusCode, "%s%s%s%s", status(resp), challenge, excerpt(resp, body), checkMount)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return c.unexpected(resp.StatusCode, "%s%s, which is not the JSON of the endpoint%s", status(resp), excerpt(resp, body), checkMount)
	}
	if what := v.mismatch(); what != "" {
		return c.unexpected(resp.StatusCode, "with JSON that is not %s%s", what, checkMount)
	}
	return nil
}

// status returns the status of an answer with the standard's text for it. The text in the answer
// itself is not trusted.
func status(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
}

// excerpt describes an answer that can't be read, and quotes its beginning.
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
	return fmt.Sprintf(" with %s that begins %q%s", head(mediaType), string(begin), dots)
}

// head returns a text of a server, or the beginning of a long one.
func head(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// explain returns the [*Error] for err, the error of an exchange over l.
func (c *Client) explain(ctx context.Context, err error, l *link) *Error {
	var (
		explained   *Error
		wrapper     *url.Error
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		network     *net.OpError
	)
	if errors.As(err, &explained) {
		return explained
	}
	if errors.As(err, &wrapper) {
		err = wrapper.Err // the URL is in the text already
	}
	first, isHTTP := l.firstBytes()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Error{URL: c.URL(), text: fmt.Sprintf("the request to %s ended: %v", c.URL(), context.Cause(ctx)), err: ctx.Err()}
	case strings.HasPrefix(string(first), tlsAlert):
		return c.unexpected(0, "in TLS; write https:// if that is meant")
	case !isHTTP:
		return c.unexpected(0, "%q, which is not HTTP; see the port", first)
	case errors.Is(err, http.ErrSchemeMismatch):
		return c.unexpected(0, "in HTTP without TLS; write http:// if that is meant")
	case errors.As(err, &record):
		return c.unexpected(0, "%q, which is not TLS; see the port", record.RecordHeader)
	case ctx.Err() != nil:
		return c.unreachable(ctx.Err(), "no answer in time; see that the process is well, or give it longer")
	case isTimeout(err) && c.http.Timeout > 0:
		return c.unreachable(err, "no answer within %v; see that the process is well, or give it longer", c.http.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.unreachable(err, "nothing listens there; see that the process runs, and the port")
	case errors.As(err, &dns):
		return c.unreachable(err, "no such host %q; see the spelling", dns.Name)
	case errors.As(err, &certificate):
		return c.unreachable(err, "its certificate is not trusted: %v; SSL_CERT_FILE names a file with further authorities", err)
	case !l.connected:
		return c.unreachable(err, "%v", err)
	case l.conn != nil && first == nil:
		return c.unreachable(err, "it closes the connection without an answer; see that the process is well, and the port")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return c.unreachable(err, "the connection breaks off before the end of its answer; see that the process is well")
	}
	return c.unexpected(0, "what makes no sense: %s; see that the endpoint is mounted there, and the port", head(err.Error()))
}

// tlsAlert begins what a TLS server sends to a client without TLS.
const tlsAlert = "\x15\x03"

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
