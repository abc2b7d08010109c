// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

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
	return fmt.Sprintf("cannot reach %s: %s", e.URL, caret.Shown(e.Err.Error()))
}

func (e *Unreachable) Unwrap() error { return e.Err }

// Stranger is an answer that the endpoint does not give: something else is at its URL.
type Stranger struct {
	URL string
	// Status is that of the answer.
	Status int
	// What says how the answer differs and what to do.
	What string
}

func (e *Stranger) Error() string { return fmt.Sprintf("%s answers %s", e.URL, e.What) }

// Refusal is an answer of the endpoint that refuses what was asked for. Nothing was changed.
type Refusal struct {
	URL    string
	Status int
	Body   wire.Error
}

func (e *Refusal) Error() string {
	return fmt.Sprintf("%s refuses: %s", e.URL, caret.Shown(strings.TrimPrefix(e.Body.Message, "spangate/control: ")))
}

// unreachable explains err in the words of whoever wonders why.
func unreachable(at *url.URL, err error, timeout time.Duration) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err // the URL is said already
	}
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		hostname    x509.HostnameError
		record      tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		err = fmt.Errorf("no answer within %v; see that the process is well, or give it longer with --timeout", timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		err = errors.New("nothing listens there; see that the process runs, and the port")
	case errors.As(err, &dns):
		err = fmt.Errorf("no such host %q; see the spelling", dns.Name)
	case errors.As(err, &record), err.Error() == "http: server gave HTTP response to HTTPS client":
		err = errors.New("it does not speak TLS; write http:// if that is meant")
	case errors.As(err, &certificate), errors.As(err, &hostname):
		err = fmt.Errorf("its certificate is not trusted: %w; SSL_CERT_FILE names a file with further authorities", err)
	}
	return &Unreachable{URL: at.String(), Err: err}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// gateway reports whether an answer says that a proxy reached no process.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}
