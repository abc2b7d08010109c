// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// shop has other groups than Gym, and other bits for those of the same name.
var shop = spangate.MustCatalog("shop", []spangate.Group{
	{Name: "sql", Bit: 1 << 8}, {Name: "http_client", Bit: 1 << 1}, {Name: "server", Bit: 1 << 2},
}, nil)

// process is a server with a gate, a catalog and a propagator of its own.
type process struct {
	*fixture
	catalog    *spangate.Catalog
	propagator *otelgate.Propagator
	url        string
	user       string // in the baggage of the latest request
}

// admit resolves the part of the override that the catalog has.
func (p *process) admit(name spangate.OverrideName) *spangate.Override {
	mask, _ := p.catalog.Resolve(name.Spec)
	return spangate.NewOverride(name, func(g *spangate.Gate, m spangate.Mask) bool { return g == p.gate && m.HasAny(mask) })
}

// startProcess starts a server that runs a span of each group, and then sends the request on to next.
func startProcess(t *testing.T, c *spangate.Catalog, next string, opts ...otelgate.PropagatorOption) *process {
	t.Helper()
	mask := func(name string) spangate.Mask { m, _ := c.Lookup(name); return m }
	p := &process{catalog: c, fixture: newFixture(t, mask("server")|mask("http_client"), otelgate.HTTPRules(mask("server"), mask("http_client")))}
	p.gate.SetReach(c.All())
	var err error
	p.propagator, err = otelgate.NewPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}), p.admit, opts...)
	require.NoError(t, err)
	options := []otelhttp.Option{otelhttp.WithTracerProvider(p), otelhttp.WithPropagators(p.propagator)}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: otelhttp.NewTransport(transport, options...)}
	server := httptest.NewServer(otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.user = baggage.FromContext(r.Context()).Member("user").Value()
		for g := range c.Groups() {
			if g.Name == "sql" || g.Name == "sandbox" {
				_, s := p.tracerOf(g.Bit).Start(r.Context(), g.Name)
				s.End()
			}
		}
		if next != "" {
			get(t, client, r.Context(), next, nil)
		}
	}), "server", options...))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func get(t *testing.T, client *http.Client, ctx context.Context, url string, h http.Header) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if !assert.NoError(t, err) {
		return
	}
	for k, v := range h {
		r.Header[k] = v
	}
	resp, err := client.Do(r)
	if !assert.NoError(t, err) {
		return
	}
	_, err = io.Copy(io.Discard, resp.Body)
	assert.NoError(t, err)
	assert.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
}

// detail returns the exported spans whose groups are off for all. It checks that all spans are one trace,
// and that one span of each process has the override's ID, or none if that is empty.
func detail(t *testing.T, id string, processes ...*process) (names []string) {
	t.Helper()
	traces := map[trace.TraceID]bool{}
	for _, p := range processes {
		isServer := func(s tracetest.SpanStub) bool { return s.SpanKind == trace.SpanKindServer }
		require.Eventually(t, func() bool { return slices.ContainsFunc(p.exported.GetSpans(), isServer) }, 10*time.Second, time.Millisecond)
		var ids []string
		for _, s := range p.exported.GetSpans() {
			traces[s.SpanContext.TraceID()] = true
			if s.SpanKind == trace.SpanKindInternal {
				names = append(names, p.catalog.Namespace()+" "+s.Name)
			}
			for _, a := range s.Attributes {
				if a.Key == otelgate.OverrideKey {
					ids = append(ids, a.Value.AsString())
				}
			}
		}
		assert.Equal(t, id, strings.Join(ids, ","))
		p.exported.Reset()
	}
	assert.Len(t, traces, 1)
	return names
}

// The first process signs, the second verifies and has another catalog, and the third trusts the
// second by its name.
func TestOverrideTurnsOnDetailInEveryProcessOfItsTrace(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	last := startProcess(t, spangate.Gym, "", otelgate.Trust(func(_ context.Context, c propagation.TextMapCarrier) bool {
		return strings.HasPrefix(c.Get("User-Agent"), "Go-http-client")
	}))
	middle := startProcess(t, shop, last.url, otelgate.Keys(key))
	first := startProcess(t, spangate.Gym, middle.url, otelgate.Keys(key))
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer client.CloseIdleConnections()

	// The token of an operator, who has the key.
	name := spangate.OverrideName{Spec: "sandbox,sql", ID: "x1", End: time.Now().Add(time.Minute)}
	signed := http.Header{}
	first.propagator.Inject(spangate.ContextWithOverride(t.Context(), first.admit(name)), propagation.HeaderCarrier(signed))
	get(t, client, t.Context(), first.url, http.Header{"Baggage": {signed.Get("Baggage") + ",user=ann"}})
	assert.Equal(t, "ann", last.user)
	assert.Equal(t, []string{"nemo_gym sandbox", "shop sql", "nemo_gym sandbox"}, detail(t, "x1", first, middle, last))

	end := strconv.FormatInt(name.End.Unix(), 10)
	for hostile, headers := range map[string][]string{
		"nothing":   nil,
		"unsigned":  {"spangate=1.x1." + end + "..all"},
		"forged":    {strings.Replace(signed.Get("Baggage"), "1.x1.", "1.x2.", 1)},
		"twice":     {signed.Get("Baggage"), signed.Get("Baggage")},
		"malformed": {"spangate=%"},
		"oversized": {"spangate=" + strings.Repeat("x", 8000)},
		"too much":  {strings.Repeat("a=1,", 2048), signed.Get("Baggage")},
	} {
		get(t, client, t.Context(), first.url, http.Header{"Baggage": headers})
		assert.Empty(t, detail(t, "", first, middle, last), hostile)
	}
	for _, p := range []*process{middle, last} {
		for reason, n := range p.propagator.Refused() {
			assert.Zero(t, n, "%s: what the first process refuses does not travel on", reason)
		}
	}
}

// A proxy that trusts none of its clients sends on the headers that it received, and the process behind it
// trusts the proxy.
func TestProxyDoesNotLendItsTrustToAStranger(t *testing.T) {
	behind := startProcess(t, spangate.Gym, "", otelgate.Trust(func(context.Context, propagation.TextMapCarrier) bool { return true }))
	f := newFixture(t, 0)
	base := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	propagator, err := otelgate.NewPropagator(base, nil)
	require.NoError(t, err)
	target, err := url.Parse(behind.url)
	require.NoError(t, err)
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer client.CloseIdleConnections()
	value := "spangate=1.x1." + strconv.FormatInt(time.Now().Unix()+60, 10) + "..all"
	for _, p := range []propagation.TextMapPropagator{base, propagator} {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.Transport = otelhttp.NewTransport(transport, otelhttp.WithTracerProvider(f), otelhttp.WithPropagators(p))
		server := httptest.NewServer(otelhttp.NewHandler(proxy, "proxy", otelhttp.WithTracerProvider(f), otelhttp.WithPropagators(p)))
		get(t, client, t.Context(), server.URL, http.Header{"Baggage": {value + ",user=ann"}})
		server.Close()
		transport.CloseIdleConnections()
		assert.Equal(t, "ann", behind.user)
		if p == propagator {
			assert.Empty(t, detail(t, "", behind))
		} else {
			assert.Equal(t, []string{"nemo_gym sandbox"}, detail(t, "x1", behind))
		}
	}
}
