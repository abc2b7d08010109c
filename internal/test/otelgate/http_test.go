// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

var w3c = propagation.TraceContext{}

// mode is how otelhttp gets the gated provider.
type mode struct {
	name    string
	options func(f *fixture, server bool) []otelhttp.Option
	global  func(f *fixture) trace.TracerProvider
}

var modes = []mode{
	{
		name: "given",
		options: func(f *fixture, _ bool) []otelhttp.Option {
			return []otelhttp.Option{otelhttp.WithTracerProvider(f)}
		},
		global: func(*fixture) trace.TracerProvider { return noop.NewTracerProvider() },
	},
	{
		// A client finds the provider in its context. A server's context is new.
		name: "found through the span",
		options: func(f *fixture, server bool) []otelhttp.Option {
			if server {
				return []otelhttp.Option{otelhttp.WithTracerProvider(f)}
			}
			return nil
		},
		global: func(*fixture) trace.TracerProvider { return noop.NewTracerProvider() },
	},
	{
		name:    "global",
		options: func(*fixture, bool) []otelhttp.Option { return nil },
		global:  func(f *fixture) trace.TracerProvider { return f },
	},
}

// fleet is two servers and a client: the client calls the agent, which calls the model. Each
// server works in an ungated span.
type fleet struct {
	*fixture
	client  *http.Client
	agent   string
	headers []string // the traceparent of each request, in order of arrival
}

func newFleet(t *testing.T, m mode) *fleet {
	t.Helper()
	f := &fleet{fixture: newFixture(t, 0, otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient))}

	previous := otel.GetTracerProvider()
	otel.SetTracerProvider(m.global(f.fixture))
	t.Cleanup(func() { otel.SetTracerProvider(previous) })

	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	f.client = &http.Client{Transport: otelhttp.NewTransport(transport, f.options(m, false)...)}

	model := f.serve(t, m, "model", func(context.Context) {})
	f.agent = f.serve(t, m, "agent", func(ctx context.Context) { f.get(t, ctx, model) })
	return f
}

func (f *fleet) options(m mode, server bool) []otelhttp.Option {
	return append(m.options(f.fixture, server), otelhttp.WithPropagators(w3c),
		otelhttp.WithSpanNameFormatter(func(operation string, r *http.Request) string {
			if operation != "" {
				return operation + " server"
			}
			return "client to " + r.URL.Path[1:]
		}))
}

func (f *fleet) serve(t *testing.T, m mode, name string, then func(context.Context)) string {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work, s := f.Tracer("ungated").Start(r.Context(), name+" work")
		defer s.End()
		then(work)
	})
	instrumented := otelhttp.NewHandler(handler, name, f.options(m, true)...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.headers = append(f.headers, r.Header.Get("traceparent"))
		instrumented.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/" + name
}

func (f *fleet) get(t *testing.T, ctx context.Context, url string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if !assert.NoError(t, err) {
		return
	}
	resp, err := f.client.Do(r)
	if !assert.NoError(t, err) {
		return
	}
	_, err = io.Copy(io.Discard, resp.Body)
	assert.NoError(t, err)
	assert.NoError(t, resp.Body.Close())
}

// spineMasks are the eight masks over the spine.
func spineMasks() (masks []spangate.Mask) {
	for i := range spangate.Mask(8) {
		masks = append(masks, i*spangate.BitServer)
	}
	return masks
}

// names returns the spans from the client to the model with the groups of m on, from the top down.
func names(m spangate.Mask) (names []string) {
	add := func(g spangate.Mask, name string) {
		if g == 0 || m.HasAny(g) {
			names = append(names, name)
		}
	}
	add(0, "top")
	add(spangate.BitRollout, "rollout")
	add(spangate.BitHTTPClient, "client to agent")
	add(spangate.BitServer, "agent server")
	add(0, "agent work")
	add(spangate.BitHTTPClient, "client to model")
	add(spangate.BitServer, "model server")
	add(0, "model work")
	return names
}

func TestEveryMaskOfTheSpineKeepsOneTrace(t *testing.T) {
	require.Equal(t, spangate.CrossProcessSpine, spineMasks()[7])
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			f := newFleet(t, m)
			for _, mask := range spineMasks() {
				f.exported.Reset()
				f.gate.Store(mask)

				ctx, top := f.Tracer("ungated").Start(t.Context(), "top")
				inside, rollout := f.tracerOf(spangate.BitRollout).Start(ctx, "rollout")
				f.get(t, inside, f.agent)
				rollout.End()
				top.End()

				checkChain(t, f.spans(), names(mask))
			}
		})
	}
}

// checkChain asserts that the spans are these, each the parent of the next.
func checkChain(t *testing.T, spans map[string]tracetest.SpanStub, names []string) {
	t.Helper()
	assert.Len(t, spans, len(names))
	var parent tracetest.SpanStub
	for i, name := range names {
		s, ok := spans[name]
		if !assert.True(t, ok, "%s of %q is missing", name, names) {
			return
		}
		if i > 0 {
			assert.Equal(t, parent.SpanContext.TraceID(), s.SpanContext.TraceID(), "%s is in another trace", name)
			assert.Equal(t, parent.SpanContext.SpanID(), s.Parent.SpanID(), "%s is not under %s", name, parent.Name)
		}
		parent = s
	}
}

func TestIncomingTraceIsContinuedUnderEveryMask(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			f := newFleet(t, m)
			for _, mask := range spineMasks() {
				f.exported.Reset()
				f.headers = nil
				f.gate.Store(mask)

				sc := remote(t)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.agent, nil)
				require.NoError(t, err)
				w3c.Inject(trace.ContextWithSpanContext(t.Context(), sc), propagation.HeaderCarrier(r.Header))
				resp, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())

				spans := f.spans()
				for name, s := range spans {
					assert.Equal(t, sc.TraceID(), s.SpanContext.TraceID(), "%v: %s", mask, name)
				}
				first := "agent work"
				if mask.HasAny(spangate.BitServer) {
					first = "agent server"
				}
				assert.Equal(t, sc.SpanID(), spans[first].Parent.SpanID(), "%v", mask)
				require.Len(t, f.headers, 2)
				last := spans["agent work"]
				if mask.HasAny(spangate.BitHTTPClient) {
					last = spans["client to model"]
				}
				assert.Equal(t, fmt.Sprintf("00-%v-%v-01", sc.TraceID(), last.SpanContext.SpanID()), f.headers[1], "%v", mask)
			}
		})
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestProcessWithEverythingOffForwardsTheIncomingHeader(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			f := newFleet(t, m)
			var got string
			downstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("traceparent")
			}))
			defer downstream.Close()
			relay := httptest.NewServer(otelhttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				f.get(t, r.Context(), downstream.URL+"/downstream")
			}), "relay", f.options(m, true)...))
			defer relay.Close()

			ctx := trace.ContextWithSpanContext(t.Context(), remote(t))
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, relay.URL, nil)
			require.NoError(t, err)
			w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
			resp, err := relay.Client().Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, r.Header.Get("traceparent"), got)
			assert.Empty(t, f.exported.GetSpans())
			f.client.CloseIdleConnections()
		})
	}
}

func TestNoHeaderGoesOutWhenEverythingIsOffAndNothingCameIn(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			f := newFleet(t, m)
			ctx, s := f.tracerOf(spangate.BitRollout).Start(t.Context(), "rollout")
			f.get(t, ctx, f.agent)
			s.End()
			require.NotEmpty(t, f.headers)
			assert.Empty(t, f.headers[0])
		})
	}
}

// With no trace above a server that is off, a client beneath finds no span in its context, so it
// uses the global provider.
func TestClientUnderNoTraceTakesTheGlobalProvider(t *testing.T) {
	for _, m := range modes[1:] {
		t.Run(m.name, func(t *testing.T) {
			f := newFleet(t, m)
			relay := httptest.NewServer(otelhttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				f.get(t, r.Context(), f.agent)
			}), "relay", append(f.options(m, true), otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }))...))
			defer relay.Close()
			for _, incoming := range []trace.SpanContext{{}, remote(t)} {
				for _, mask := range []spangate.Mask{0, spangate.BitHTTPClient} {
					f.exported.Reset()
					f.gate.Store(mask)
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, relay.URL, nil)
					require.NoError(t, err)
					w3c.Inject(trace.ContextWithSpanContext(t.Context(), incoming), propagation.HeaderCarrier(r.Header))
					resp, err := relay.Client().Do(r)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					_, made := f.spans()["client to agent"]
					assert.Equal(t, m.name == "global" && mask == spangate.BitHTTPClient, made, "%v", mask)
				}
			}
		})
	}
}

// A public endpoint starts a trace of its own, whether the server's span is on or off.
func TestPublicEndpointIgnoresAHostileTraceparent(t *testing.T) {
	for _, mask := range []spangate.Mask{0, spangate.BitServer} {
		f := newFixture(t, mask, otelgate.HTTPRules(spangate.BitServer, spangate.BitHTTPClient))
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, s := f.Tracer("ungated").Start(r.Context(), "work")
			s.End()
		})
		server := httptest.NewServer(otelhttp.NewHandler(handler, "public",
			otelhttp.WithTracerProvider(f), otelhttp.WithPropagators(w3c),
			otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true })))
		client := server.Client()
		for _, hostile := range []string{
			"00-01020300000000000000000000000000-0405060000000000-01", // well-formed: another caller's trace
			"00-00000000000000000000000000000000-0000000000000000-01", // all zero
			"00-01020300000000000000000000000000-0405060000000000-ff", // unknown flags
			"ff-01020300000000000000000000000000-0405060000000000-01", // the forbidden version
			"00-0102",                           // cut short
			"\xff\xfe",                          // not text
			string(make([]byte, 0)),             // empty
			fmt.Sprintf("00-%0*d-1-1", 4096, 0), // long
		} {
			f.exported.Reset()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			require.NoError(t, err)
			r.Header["Traceparent"] = []string{hostile}
			resp, err := client.Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, http.StatusOK, resp.StatusCode)

			spans := f.spans()
			require.Contains(t, spans, "work", "%q", hostile)
			for name, s := range spans {
				assert.NotEqual(t, remote(t).TraceID(), s.SpanContext.TraceID(), "%s joined %q", name, hostile)
			}
			if mask == 0 {
				assert.False(t, spans["work"].Parent.IsValid(), "%q", hostile)
			}
		}
		server.Close()
	}
}

// otelhttp is one scope with two sites, and asks for its tracer again at every request whose provider
// it finds through a span.
func TestScopesCountsTheRequestsOfOtelhttpByKind(t *testing.T) {
	for _, m := range modes {
		f := newFleet(t, m)
		f.gate.Store(spangate.BitHTTPClient)
		f.get(t, t.Context(), f.agent)
		f.gate.Store(spangate.BitServer | spangate.BitHTTPClient)
		f.get(t, t.Context(), f.agent)

		counts := map[string]uint64{}
		for scope := range f.Scopes() {
			for _, site := range scope.Sites {
				counts[scope.Name+" "+site.Rule.Kind.String()] = site.Started
			}
		}
		for _, s := range f.exported.GetSpans() {
			kind := trace.SpanKindUnspecified // of a site without a rule
			if s.SpanKind != trace.SpanKindInternal {
				kind = s.SpanKind
			}
			counts[s.Snapshot().InstrumentationScope().Name+" "+kind.String()]--
		}
		for site, n := range counts {
			assert.Zero(t, n, "%s: %s: spans counted and not exported", m.name, site)
		}
		assert.Len(t, counts, 4, m.name) // otelhttp's server, client and rest, and the fleet's own
	}
}

func TestDiscoverGatesOtelhttpWithoutARule(t *testing.T) {
	gate := new(spangate.Gate)
	asked := 0
	f := newFixture(t, 0, otelgate.Discover(func(scope string) (*spangate.Gate, spangate.Mask) {
		asked++
		assert.Equal(t, otelhttp.ScopeName, scope)
		return gate, 1
	}))
	server := httptest.NewServer(otelhttp.NewHandler(http.NotFoundHandler(), "server", otelhttp.WithTracerProvider(f)))
	defer server.Close()
	for _, on := range []spangate.Mask{0, 1, 0} {
		gate.Store(on)
		resp, err := http.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	require.Eventually(t, func() bool { return len(f.exported.GetSpans()) == 1 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 1, asked)
	assert.EqualValues(t, 1, slices.Collect(f.Scopes())[0].Started)
}
