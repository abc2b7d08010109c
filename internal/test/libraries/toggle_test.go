// SPDX-License-Identifier: Apache-2.0

package libraries

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

// The gate goes through all masks during calls, half of which have a remote parent. Every span
// that started ends once, and no parent is missing.
func TestTogglingUnderTrafficLeavesNoOrphan(t *testing.T) {
	const workers, calls = 4, 50
	g := new(spangate.Gate)
	s := newSDK(t, func(base trace.TracerProvider) trace.TracerProvider {
		return gatedProvider(t, base, g, slices.Concat(otelgate.HTTPRules(server, client), grpcRules))
	})
	t.Run("traffic", func(t *testing.T) {
		viaHTTP := openOtelhttp(http.StatusOK)(t, s.inner)
		viaUnary := openGRPC(unary)(t, s.inner)
		viaStream := openGRPC(streaming)(t, s.inner)
		call := func(ctx context.Context) error {
			return errors.Join(viaHTTP(ctx), viaUnary(ctx), viaStream(ctx))
		}
		var toggler, traffic sync.WaitGroup
		done := make(chan struct{})
		toggler.Go(func() {
			for {
				for mask := range masks(catalog.All()) {
					g.Store(mask)
					select {
					case <-done:
						return
					case <-time.After(100 * time.Microsecond):
					}
				}
			}
		})
		for i := range workers {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = trace.ContextWithRemoteSpanContext(ctx, remote)
			}
			traffic.Go(func() {
				for range calls {
					_, err := runProgram(ctx, call)
					assert.NoError(t, err)
				}
			})
		}
		traffic.Wait()
		close(done)
		toggler.Wait()
	})
	r := &recording{parent: remote, spans: s.ended(t), logs: s.logs.records}
	lines, _ := r.shape(catalog.All())
	for _, line := range lines {
		assert.False(t, strings.HasPrefix(line, "ORPHAN"), line)
	}
	started := map[spangate.Mask]int{}
	for _, group := range r.groups() {
		started[group]++
	}
	for group := range catalog.All().Bits() {
		assert.Positive(t, started[group], "%s was never on", catalog.Format(group))
	}
	assert.Less(t, started[program], workers*calls, "program was never off")
}
