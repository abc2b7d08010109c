// SPDX-License-Identifier: Apache-2.0

// Package setup installs a provider.
package setup

import (
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
)

func Telemetry(base trace.TracerProvider) error {
	if base == nil {
		return errors.New("no provider")
	}
	otel.SetTracerProvider(base)
	return nil
}

func Perhaps(base trace.TracerProvider) {
	if base != nil {
		otel.SetTracerProvider(base)
	}
}
