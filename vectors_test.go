// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// testdata/spec.json has the results of nemo-lens itself, in Python, for specs with every kind of
// space, case and misspelling.
func TestParseAgreesWithNemoLens(t *testing.T) {
	data, err := os.ReadFile("testdata/spec.json")
	require.NoError(t, err)
	var vectors []struct {
		Vocabulary string
		Spec       string
		Groups     []string
		Unknown    *string // the first unknown name, folded
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.Len(t, vectors, 1494)

	catalogs := map[string]*spangate.Catalog{"gym": spangate.Gym, "lens": spangate.Lens}
	for _, v := range vectors {
		c := catalogs[v.Vocabulary]
		m, err := c.Parse(v.Spec)
		if v.Unknown != nil {
			var e *spangate.ParseError
			if assert.ErrorAs(t, err, &e, "%s %q", v.Vocabulary, v.Spec) {
				assert.Equal(t, *v.Unknown, pythonLower(e.Unknown[0].Name), "%s %q", v.Vocabulary, v.Spec)
			}
			continue
		}
		want := spangate.Mask(0)
		for _, name := range v.Groups {
			bit, ok := c.Lookup(name)
			require.True(t, ok, name)
			want |= bit
		}
		assert.NoError(t, err, "%s %q", v.Vocabulary, v.Spec)
		assert.Equal(t, want, m, "%s %q", v.Vocabulary, v.Spec)
	}
}

// pythonLower is Python's str.lower for the runes of the vectors: Go maps U+0130 to i,
// Python to i and a combining dot.
func pythonLower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
}
