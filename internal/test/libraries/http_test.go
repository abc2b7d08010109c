// SPDX-License-Identifier: Apache-2.0

package libraries

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/contrib/instrumentation/net/http/httptrace/otelhttptrace"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate/otelgate"
)

// openHTTP serves handler, and returns a call of it through the transport that wrap returns.
func openHTTP(t *testing.T, handler http.Handler, wrap func(http.RoundTripper) http.RoundTripper) func(context.Context) error {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Transport: wrap(transport)}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/work", nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

// respond returns a handler that calls inner and responds with status.
func respond(status int, inner func(context.Context)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner(r.Context())
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "done")
	})
}

func openOtelhttp(status int, opts ...otelhttp.Option) func(*testing.T, func(context.Context)) func(context.Context) error {
	return func(t *testing.T, inner func(context.Context)) func(context.Context) error {
		return openHTTP(t, otelhttp.NewHandler(respond(status, inner), "handler", opts...),
			func(base http.RoundTripper) http.RoundTripper { return otelhttp.NewTransport(base) })
	}
}

func always(*http.Request) bool { return true }

// injecting is a transport without instrumentation that propagates the trace.
type injecting struct{ http.RoundTripper }

func (i injecting) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	otel.GetTextMapPropagator().Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return i.RoundTripper.RoundTrip(r)
}

func openGin(t *testing.T, inner func(context.Context)) func(context.Context) error {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(otelgin.Middleware("gin"))
	engine.GET("/work", func(c *gin.Context) {
		inner(c.Request.Context())
		_ = c.AbortWithError(http.StatusInternalServerError, io.ErrUnexpectedEOF)
	})
	return openHTTP(t, engine, func(base http.RoundTripper) http.RoundTripper { return injecting{base} })
}

// tracing is a transport that traces each request with otelhttptrace and propagates the trace.
type tracing struct{ http.RoundTripper }

func (tr tracing) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(r.Context(), otelhttptrace.NewClientTrace(r.Context()))
	r = r.Clone(ctx)
	otelhttptrace.Inject(ctx, r)
	return tr.RoundTripper.RoundTrip(r)
}

func openHTTPTrace(t *testing.T, inner func(context.Context)) func(context.Context) error {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner(otel.GetTextMapPropagator().Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	})
	return openHTTP(t, handler, func(base http.RoundTripper) http.RoundTripper { return tracing{base} })
}

var httpLibraries = []library{
	{
		name:    "otelhttp",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"},
		run:     "transport and handler",
		groups:  program | client | server | inner,
		rules:   otelgate.HTTPRules(server, client),
		open:    openOtelhttp(http.StatusOK),
	},
	{
		name:    "otelhttp, failing",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"},
		run:     "the same, and the response is a 500",
		groups:  program | client | server | inner,
		rules:   otelgate.HTTPRules(server, client),
		open:    openOtelhttp(http.StatusInternalServerError),
	},
	{
		name:    "otelhttp, public",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"},
		run:     "transport, and handler as a public endpoint, which starts a new trace",
		groups:  program | client | server | inner,
		rules:   otelgate.HTTPRules(server, client),
		open:    openOtelhttp(http.StatusOK, otelhttp.WithPublicEndpointFn(always)),
	},
	{
		name:    "otelhttptrace",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/net/http/httptrace/otelhttptrace"},
		run:     "a request on a new connection",
		groups:  program | client | inner,
		rules:   otelgate.Rules{{Scope: otelhttptrace.ScopeName, Group: client}},
		open:    openHTTPTrace,
	},
	{
		name:    "otelgin",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin", "github.com/gin-gonic/gin"},
		run:     "middleware, and the handler aborts with an error",
		groups:  program | server | inner,
		rules:   otelgate.Rules{{Scope: otelgin.ScopeName, Group: server}},
		open:    openGin,
	},
}
