// SPDX-License-Identifier: Apache-2.0

package otelgate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

func overridePage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/override.md")
	require.NoError(t, err)
	return string(page)
}

func TestPageHasATokenThatIsSignedAsItSays(t *testing.T) {
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	member := "spangate=" + token("a7-Q", end, "default,sandbox", []byte("0123456789abcdef0123456789abcdef"))
	assert.Contains(t, overridePage(t), "\n    baggage: "+member+"\n")
}

// pythonHarness runs the page's reader on each case of standard input. The clock is at the start of the
// year 2000, as in a synctest bubble.
const pythonHarness = `
import json
import sys

time.time = lambda: 946684800.0
for case in json.load(sys.stdin):
    headers = [bytes(h, "latin-1").decode("latin-1") for h in case["headers"]]
    print(json.dumps(read_override(headers, [k.encode() for k in case["keys"]], case["trusted"])))
`

// The page's reader and Extract agree on each seed of the fuzz test, and on a valid header with each of its
// bytes replaced, removed or preceded by each byte that means something.
func TestPythonReaderOfThePageAgreesWithExtract(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil && os.Getenv("CI") == "" {
		t.Skip("python3 is not installed")
	}
	_, code, _ := strings.Cut(overridePage(t), "\n```python\n")
	code, _, found := strings.Cut(code, "```\n")
	require.True(t, found, "the page has a block of Python")
	assert.LessOrEqual(t, strings.Count(code, "\n"), 40)

	type test struct {
		Headers []string `json:"headers"`
		Keys    []string `json:"keys"`
		Trusted bool     `json:"trusted"`
	}
	var tests []test
	add := func(headers ...string) {
		for _, keys := range [][]string{{string(newKey)}, {string(oldKey), string(newKey)}} {
			tests = append(tests, test{headers, keys, false}, test{headers, keys, true})
		}
	}
	for _, s := range baggageSeeds {
		add(s[0])
		add(s[0], s[1])
	}
	valid := "a=1, spangate = " + token("x-1", time.Unix(946684860, 0), "a.b,-c", newKey) + ";p"
	add(valid)
	for i := range valid {
		add(valid[:i] + valid[i+1:])
		for _, b := range "aZ0.,;=%-_~ \t\x00\n\"é" {
			add(valid[:i]+string(b)+valid[i+1:], "b=2")
			add("b=2", valid[:i]+string(b)+valid[i:])
		}
	}
	for i := range tests { // one character a byte, as JSON has no bytes
		for j, h := range tests[i].Headers {
			latin1 := make([]rune, len(h))
			for k := range len(h) {
				latin1[k] = rune(h[k])
			}
			tests[i].Headers[j] = string(latin1)
		}
	}
	input, err := json.Marshal(tests)
	require.NoError(t, err)
	script := t.TempDir() + "/reader.py"
	require.NoError(t, os.WriteFile(script, []byte(code+pythonHarness), 0o600))
	cmd := exec.Command("python3", script)
	cmd.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())

	synctest.Test(t, func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		require.Len(t, lines, len(tests))
		read := 0
		for i, test := range tests {
			var python []any
			require.NoError(t, json.Unmarshal([]byte(lines[i]), &python))
			opts := []otelgate.PropagatorOption{otelgate.Keys([]byte(test.Keys[0]))}
			if len(test.Keys) > 1 {
				opts[0] = otelgate.Keys([]byte(test.Keys[0]), []byte(test.Keys[1]))
			}
			if test.Trusted {
				opts = append(opts, otelgate.Trust(everyone))
			}
			var headers []string
			for _, h := range test.Headers {
				var b []byte
				for _, r := range h {
					b = append(b, byte(r))
				}
				headers = append(headers, string(b))
			}
			name := nameOf(extract(newPropagator(t, opts...), headers...))
			if python == nil {
				require.Equal(t, spangate.OverrideName{}, name, "%q", headers)
				continue
			}
			read++
			require.Equal(t, []any{name.Spec, name.ID, float64(name.End.Unix())}, python, "%q", headers)
		}
		assert.Greater(t, read, len(tests)/20, "headers that both read")
		assert.Less(t, read, len(tests)/2, "headers that both refuse")
	})
}
