// SPDX-License-Identifier: Apache-2.0

//go:build spangate_off

package otelgate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spangate/spangate"
)

func TestEveryRuledScopeIsOffWhenSitesAreCompiledOut(t *testing.T) {
	p, err := NewTracerProvider(noop.NewTracerProvider(), spangate.NewGate(spangate.PresetAll), HTTPRules(spangate.BitServer, spangate.BitHTTPClient))
	require.NoError(t, err)
	_, s := p.Group(spangate.BitRollout).Tracer("mine").Start(t.Context(), "s")
	assert.IsType(t, (*inert)(nil), s)
	_, s = p.Tracer("no rule").Start(t.Context(), "s")
	assert.IsType(t, (*otherSpan)(nil), s)
}
