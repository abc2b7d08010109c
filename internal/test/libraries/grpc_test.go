// SPDX-License-Identifier: Apache-2.0

package libraries

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// service is gRPC's own test service.
type service struct {
	grpc_testing.UnimplementedTestServiceServer
	inner func(context.Context)
}

func (s service) UnaryCall(ctx context.Context, _ *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	s.inner(ctx)
	return &grpc_testing.SimpleResponse{}, nil
}

func (s service) EmptyCall(ctx context.Context, _ *grpc_testing.Empty) (*grpc_testing.Empty, error) {
	s.inner(ctx)
	return nil, status.Error(codes.Internal, "broken")
}

func (s service) FullDuplexCall(stream grpc.BidiStreamingServer[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse]) error {
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.inner(stream.Context())
		if err := stream.Send(&grpc_testing.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// openGRPC returns a function that serves the service, and returns call with a client of it.
func openGRPC(call func(context.Context, grpc_testing.TestServiceClient) error) func(*testing.T, func(context.Context)) func(context.Context) error {
	return func(t *testing.T, inner func(context.Context)) func(context.Context) error {
		listener := bufconn.Listen(1 << 16)
		s := grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler()))
		grpc_testing.RegisterTestServiceServer(s, service{inner: inner})
		go func() { _ = s.Serve(listener) }()
		t.Cleanup(s.GracefulStop)
		conn, err := grpc.NewClient("passthrough:///bufconn",
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStatsHandler(otelgrpc.NewClientHandler()))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, conn.Close()) })
		c := grpc_testing.NewTestServiceClient(conn)
		return func(ctx context.Context) error { return call(ctx, c) }
	}
}

func unary(ctx context.Context, c grpc_testing.TestServiceClient) error {
	_, err := c.UnaryCall(ctx, &grpc_testing.SimpleRequest{})
	return err
}

func failing(ctx context.Context, c grpc_testing.TestServiceClient) error {
	_, err := c.EmptyCall(ctx, &grpc_testing.Empty{})
	return mustFail(err)
}

// streaming sends two messages, each after the response to the one before.
func streaming(ctx context.Context, c grpc_testing.TestServiceClient) error {
	stream, err := c.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if err := stream.Send(&grpc_testing.StreamingOutputCallRequest{}); err != nil {
			return err
		}
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

var grpcRules = otelgate.Rules{
	{Scope: otelgrpc.ScopeName, Kind: trace.SpanKindServer, Group: server},
	{Scope: otelgrpc.ScopeName, Kind: trace.SpanKindClient, Group: client},
}

var grpcLibraries = []library{
	{
		name:    "otelgrpc",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", "google.golang.org/grpc"},
		run:     "client and server, a unary call",
		groups:  program | client | server | inner,
		rules:   grpcRules,
		open:    openGRPC(unary),
	},
	{
		name:    "otelgrpc, failing",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", "google.golang.org/grpc"},
		run:     "the same, and the call fails",
		groups:  program | client | server | inner,
		rules:   grpcRules,
		open:    openGRPC(failing),
	},
	{
		name:    "otelgrpc, streaming",
		modules: []string{"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", "google.golang.org/grpc"},
		run:     "the same, with a stream of two messages each way",
		groups:  program | client | server | inner,
		rules:   grpcRules,
		open:    openGRPC(streaming),
	},
}

// mustFail returns an error if err is nil.
func mustFail(err error) error {
	if err == nil {
		return errors.New("a call that should fail did not")
	}
	return nil
}

// gRPC's metadata is another carrier than HTTP's headers.
func TestOverrideTravelsThroughOtelgrpc(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 32)
	admit := func(name spangate.OverrideName) *spangate.Override { return spangate.NewOverride(name, nil) }
	p, err := otelgate.NewPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}), admit, otelgate.Keys(key))
	require.NoError(t, err)
	var received spangate.OverrideName
	var user string
	listener := bufconn.Listen(1 << 16)
	s := grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithPropagators(p))))
	grpc_testing.RegisterTestServiceServer(s, service{inner: func(ctx context.Context) {
		received, user = spangate.OverrideFromContext(ctx).Name(), baggage.FromContext(ctx).Member("user").Value()
	}})
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.GracefulStop)
	dial := func(opts ...grpc.DialOption) grpc_testing.TestServiceClient {
		conn, err := grpc.NewClient("passthrough:///bufconn", append(opts,
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, conn.Close()) })
		return grpc_testing.NewTestServiceClient(conn)
	}

	member, err := baggage.NewMember("user", "ann")
	require.NoError(t, err)
	program, err := baggage.New(member)
	require.NoError(t, err)
	name := spangate.OverrideName{Spec: "all", ID: "x1", End: time.Unix(time.Now().Unix()+60, 0)}
	ctx := baggage.ContextWithBaggage(spangate.ContextWithOverride(t.Context(), admit(name)), program)
	require.NoError(t, unary(ctx, dial(grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithPropagators(p))))))
	assert.Equal(t, name, received)
	assert.Equal(t, "ann", user)

	stranger := metadata.AppendToOutgoingContext(t.Context(), "baggage", "spangate=1.x1.99..all,user=bob")
	require.NoError(t, unary(stranger, dial()))
	assert.Zero(t, received)
	assert.Equal(t, "bob", user)
}
