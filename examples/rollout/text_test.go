// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// variables are the parts of the output that differ from run to run.
var variables = []struct {
	pattern     *regexp.Regexp
	placeholder string
}{
	{regexp.MustCompile(` +[0-9.]+ ms`), "  # ms"},
	{regexp.MustCompile(`[0-9.]+ ns`), "# ns"},
	{regexp.MustCompile(`[0-9.]+ times`), "# times"},
	{regexp.MustCompile(`trace [0-9a-f]{8}`), "trace ########"},
	{regexp.MustCompile(`rollout.id=[0-9a-f]{32}`), "rollout.id=################################"},
	{regexp.MustCompile(`process [0-9]+ *`), "process #  "},
	{regexp.MustCompile(`127.0.0.1:[0-9]+`), "127.0.0.1:#"},
}

func TestOutputInAPipeIsASCIIAndMatchesTheGoldenFile(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{"output.txt": nil, "detail-one.txt": {"--detail-one"}} {
		stdout, stderr, code := runProgram(t, args...)
		require.Zero(t, code, stderr)
		assert.Empty(t, stderr)
		assert.NotRegexp(t, `[^\n -~]`, stdout, "not plain ASCII")
		assert.NotRegexp(t, ` (\n|$)`, stdout, "space at the end of a line")
		for _, v := range variables {
			stdout = v.pattern.ReplaceAllString(stdout, v.placeholder)
		}
		golden := filepath.Join("testdata", file)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(stdout), 0o644))
		}
		expected, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(expected), stdout)
	}
}

func TestOutputOnATerminalHasBoxCharactersAndColours(t *testing.T) {
	terminal := []string{"TERM=xterm-256color", "TTY_FORCE=1"}
	for _, test := range []struct {
		name           string
		environment    []string
		lines, colours bool
	}{
		{"terminal", terminal, true, true},
		{"terminal without colours", append(terminal, "NO_COLOR=1"), true, false},
		{"dumb terminal", []string{"TERM=dumb", "TTY_FORCE=1"}, false, false},
		{"no terminal", []string{"TERM=xterm-256color"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			newPrinter(&out, test.environment).run(
				Run{Spec: "rollout,verify", Rollouts: []Rollout{{ID: "a"}}, Received: &Received{Spans: 2, Traces: 1}},
				[]Span{
					{ID: spanID{Span: [8]byte{1}}, Group: "rollout", Name: "gym.rollout", Process: "driver", Took: time.Second},
					{ID: spanID{Span: [8]byte{2}}, Parent: spanID{Span: [8]byte{1}}, Group: "verify", Name: "verify", Process: "resources"},
				})
			assert.Equal(t, test.lines, strings.Contains(out.String(), "└──"))
			assert.Equal(t, test.colours, strings.Contains(out.String(), "\x1b[33m"))
		})
	}
}

// The tree shows several roots and traces, and spans whose parent is missing.
func TestTreeShowsBrokenTraces(t *testing.T) {
	span := func(trace, id, parent byte, name, process string) Span {
		return Span{
			ID:     spanID{[16]byte{trace}, [8]byte{id}},
			Parent: spanID{[16]byte{trace}, [8]byte{parent}},
			Name:   name, Group: name, Process: process,
			Start: time.Unix(int64(id), 0), Took: time.Duration(id) * 1500 * time.Microsecond,
		}
	}
	drawn := newPrinter(io.Discard, []string{"TERM=xterm-256color", "TTY_FORCE=1"}).tree([]Span{
		span(2, 2, 9, "orphan", "resources"), // the same span ID in another trace
		span(1, 7, 3, "verify", "resources"),
		span(1, 1, 0, "model_call", "model"),
		span(1, 3, 0, "agent", "agent"),
		span(1, 4, 3, "model_call", "model"),
		span(2, 5, 2, "sandbox", "resources"),
	})
	assert.Equal(t, strings.TrimPrefix(`
trace 01000000
├── model_call               model       1.50 ms
└── agent                    agent       4.50 ms
    ├── model_call           model       6.00 ms
    └── verify               resources  10.50 ms
trace 02000000
└── orphan (parent missing)  resources   3.00 ms
    └── sandbox              resources   7.50 ms`, "\n")+"\n", ansi.Strip(drawn))
}
