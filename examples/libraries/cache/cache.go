// SPDX-License-Identifier: Apache-2.0

// Package cache stands for a library that does not know spangate. It has one instrumentation scope
// for each group of spans that a program may want apart.
package cache

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
)

// Cache is a cache.
type Cache struct{ lookups, network trace.Tracer }

// New returns a cache. A nil provider is OpenTelemetry's global one.
func New(provider trace.TracerProvider) *Cache {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return &Cache{
		lookups: provider.Tracer("example.com/cache"),
		network: provider.Tracer("example.com/cache.network"),
	}
}

// Get looks a key up.
func (c *Cache) Get(ctx context.Context, key string) {
	ctx, span := c.lookups.Start(ctx, "get")
	defer span.End()
	c.fetch(ctx, key)
}

func (c *Cache) fetch(ctx context.Context, _ string) {
	_, span := c.network.Start(ctx, "fetch", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
}
