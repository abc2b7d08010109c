// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spangate/spangate/control/wire"
)

// The tokens of the standard decoder are the oracle. Each read returns one byte.
func TestBoundedCountsWhatTheDecoderReads(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		text := rapid.StringOf(rapid.SampledFrom([]rune(`a"\\,{}[]:/` + "\n\u2028")))
		kinds := []*rapid.Generator[any]{text.AsAny(), rapid.Int().AsAny(), rapid.Just(any(nil)), rapid.Bool().AsAny()}
		if depth > 0 {
			kinds = append(kinds,
				rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 4).AsAny(),
				rapid.MapOfN(text, rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 4).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(value(4).Draw(t, "value"))
		require.NoError(t, err)
		objects, lists := 0, 0
		for d := json.NewDecoder(strings.NewReader(string(body))); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			switch token {
			case json.Delim('{'):
				objects++
			case json.Delim('['):
				lists++
			}
		}
		b := &bounded{r: iotest.OneByteReader(strings.NewReader(string(body)))}
		read, err := io.ReadAll(b)
		require.NoError(t, err)
		assert.Equal(t, body, read)
		assert.Equal(t, objects, b.objects)
		assert.GreaterOrEqual(t, b.values, objects+lists)
		assert.Zero(t, b.depth)
		assert.False(t, b.inString)
		assert.Equal(t, len(body), b.bytes)
	})
}

func TestBoundsAreExact(t *testing.T) {
	for text, before := range map[string]bounded{ // what was read before the text, which reaches the bound
		"{}": {objects: maxObjects - 1},
		",":  {values: maxValues - 1},
		" ,": {elements: [maxDepth + 2]int{maxElements - 2}}, // before the last
		"[":  {depth: maxDepth - 1},
		" ":  {bytes: maxBytes - 1},
	} {
		within, beyond := before, before
		within.r, beyond.r = strings.NewReader(text), strings.NewReader(text+text)
		read, err := io.ReadAll(&within)
		assert.NoError(t, err, text)
		assert.Equal(t, text, string(read))
		_, err = io.ReadAll(&beyond)
		var large *tooLarge
		assert.ErrorAs(t, err, &large, text)
	}
}

// A process that has as many leases as it grants by default, each on all groups of a large
// catalog and quieting them all, is within the bounds.
func TestStateOfALargeProcessIsWithinTheBounds(t *testing.T) {
	names := make([]string, 64)
	for i := range names {
		names[i] = strings.Repeat("n", 15)
	}
	state := wire.State{Enabled: names}
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = strings.Repeat("i", 13)
		state.Leases = append(state.Leases, wire.Lease{ID: ids[i], Owner: "an owner", Spec: "all", Quiet: "all", Why: "a reason", Groups: names, Quieted: names, StillOn: names, Left: "1h0m0s"})
	}
	for range names {
		state.Groups = append(state.Groups, wire.Group{Name: names[0], Leases: ids, Quiet: ids, Members: []wire.Member{{Namespace: "x"}}})
	}
	body, err := json.Marshal(state)
	require.NoError(t, err)
	_, err = io.ReadAll(&bounded{r: strings.NewReader(string(body))})
	assert.NoError(t, err)
}
