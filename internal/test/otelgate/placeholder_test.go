// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// OpenTelemetry's placeholder exists until the first provider is installed, so the test runs in a
// process of its own.
func TestPlaceholderIsRefused(t *testing.T) {
	if os.Getenv("SPANGATE_PLACEHOLDER") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPlaceholderIsRefused$", "-test.v", "-test.timeout=30s")
		cmd.Env = append(os.Environ(), "SPANGATE_PLACEHOLDER=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestPlaceholderIsRefused")
		return
	}
	placeholder := otel.GetTracerProvider()
	early := placeholder.Tracer("early") // delegates to the provider that is installed below
	gate := spangate.NewGate(1)
	_, err := otelgate.NewTracerProvider(placeholder, gate)
	assert.ErrorIs(t, err, otelgate.ErrPlaceholder)
	assert.ErrorContains(t, err, "pass the SDK's provider")

	sdk := sdktrace.NewTracerProvider()
	p, err := otelgate.NewTracerProvider(sdk, gate, otelgate.Rule{Group: 1})
	require.NoError(t, err)
	otel.SetTracerProvider(p)
	assert.Same(t, p, otel.GetTracerProvider())
	assert.True(t, started(early), "a tracer fetched before is behind the gate")
	gate.Store(0)
	assert.False(t, started(early))
}
