// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// asProgram is an environment variable that makes the test binary the program. So the tests need
// no second build, and the race detector checks every process.
const asProgram = "ROLLOUT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == serveCommand {
		main()
		return
	}
	slog.SetLogLoggerLevel(slog.LevelWarn) // as the program does
	// A program with the race detector sleeps a second before it exits; dozens run here.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// program returns a command that runs the program with these arguments.
func program(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "CLICOLOR_FORCE=")
	return cmd
}

// runProgram runs the program to its end.
func runProgram(t *testing.T, args ...string) (stdout, stderr string, code int) {
	cmd := program(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// runJSON runs the program with --json.
func runJSON(t *testing.T, args ...string) Report {
	stdout, stderr, code := runProgram(t, append(args, "--json")...)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	var report Report
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&report))
	require.False(t, decoder.More(), "more than one JSON value")
	return report
}

// spansPerRollout has the spans of a rollout by group. The agent calls the model twice, the tool
// once and verify once, and the driver calls the agent: five calls.
var spansPerRollout = map[string]int{
	"rollout": 1, "http_client": 5, "server": 5, "agent": 1, "model_call": 2, "sandbox": 1, "verify": 1,
}

func TestEachSpecGivesTheSpansOfItsGroupsAndOneTracePerRollout(t *testing.T) {
	const rollouts = 4
	specs := []struct {
		spec   string
		groups []string // with sites in this program, without job
		job    bool
	}{
		{"default", []string{"server", "http_client", "rollout"}, true},
		{"per_rollout", []string{"server", "http_client", "rollout", "verify", "agent", "model_call"}, false},
		{"all", []string{"server", "http_client", "rollout", "verify", "agent", "model_call", "sandbox"}, true},
		{"per_rollout,-server,-http_client", []string{"rollout", "verify", "agent", "model_call"}, false},
		{"", nil, false},
	}
	args := []string{fmt.Sprintf("--rollouts=%d", rollouts)}
	for _, s := range specs {
		args = append(args, "--spec", s.spec)
	}
	report := runJSON(t, args...)
	assert.Nil(t, report.Live)
	assert.Nil(t, report.OffSite)
	require.Len(t, report.Runs, len(specs))
	for i, s := range specs {
		t.Run("spec "+s.spec, func(t *testing.T) {
			run := report.Runs[i]
			byGroup := make(map[string]int)
			perRollout := 0
			for _, group := range s.groups {
				byGroup[group] = rollouts * spansPerRollout[group]
				perRollout += spansPerRollout[group]
			}
			traces, spans := rollouts, rollouts*perRollout
			if s.job {
				byGroup["job"] = 1
				traces, spans = 1, spans+1
			}
			if spans == 0 {
				traces = 0
			}
			assert.Equal(t, s.spec, run.Spec)
			assert.Subset(t, run.Groups, s.groups)
			assert.Equal(t, byGroup, run.Received.ByGroup)
			assert.Equal(t, spans, run.Received.Spans)
			assert.Equal(t, traces, run.Received.Traces)
			assert.Equal(t, traces, run.Received.Roots)
			assert.Zero(t, run.Received.Orphans)
			assert.Equal(t, spans > 0, run.Received.Bytes > 100*spans, "a span takes more than a hundred bytes")
			assert.True(t, run.Received.OneTraceEach)
			assert.Equal(t, spans, sum(run.Received.ByName))
			assert.Equal(t, spans, sum(run.Received.ByProcess))
			require.Len(t, run.Rollouts, rollouts)
			require.Len(t, run.Received.Rollouts, rollouts)
			for i, rollout := range run.Received.Rollouts {
				assert.Equal(t, RolloutSpans{Spans: perRollout, Traces: min(perRollout, 1)}, rollout)
				assert.Len(t, run.Rollouts[i].ID, 32)
			}
			// The model cannot do the third task, whatever is on.
			assert.Equal(t, []float64{1, 1, 0, 1}, []float64{
				run.Rollouts[0].Reward, run.Rollouts[1].Reward, run.Rollouts[2].Reward, run.Rollouts[3].Reward,
			})
		})
	}
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

func TestSpecAndLeaseChangeDuringAJob(t *testing.T) {
	t.Parallel()
	report := runJSON(t, "--rollouts=1")
	require.NotNil(t, report.Live)
	var spans []int
	for i, rollout := range report.Live.Received.Rollouts {
		spans = append(spans, rollout.Spans)
		assert.Equal(t, liveSteps[i].spec, report.Live.Rollouts[i].Spec)
	}
	assert.Equal(t, []int{11, 11, 16, 16, 5, 5, 0, 0}, spans)
	assert.Equal(t, 1, report.Live.Received.Traces)
	assert.Zero(t, report.Live.Received.Orphans)

	require.NotNil(t, report.Leased)
	spans = nil
	for i, rollout := range report.Leased.Received.Rollouts {
		spans = append(spans, rollout.Spans)
		assert.Equal(t, leasedSteps[i].lease, report.Leased.Rollouts[i].Leased == "sandbox")
	}
	assert.Equal(t, []int{11, 12, 12, 11}, spans)
	assert.Equal(t, 2, report.Leased.Received.ByGroup["sandbox"])
	assert.Equal(t, 1, report.Leased.Received.Traces)
	assert.Zero(t, report.Leased.Received.Orphans)

	require.NotNil(t, report.OffSite)
	assert.Positive(t, report.OffSite.BareLoop)
	assert.Positive(t, report.OffSite.OffSite)
}

func TestSpansGoToAnotherCollectorAndAreNotCounted(t *testing.T) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	base := strings.TrimSuffix(c.url, tracesPath)
	for _, url := range []string{base, base + "/", c.url} {
		report := runJSON(t, "--spec=default", "--rollouts=3", "--otlp", url)
		require.Len(t, report.Runs, 1)
		assert.Len(t, report.Runs[0].Rollouts, 3)
		assert.Nil(t, report.Runs[0].Received)
		spans, _ := c.take()
		assert.Len(t, spans, 34)
	}
	report := runJSON(t, "--detail-one", "--otlp", base)
	assert.Nil(t, report.DetailOne)
	assert.Len(t, report.Runs[0].Rollouts, 10)
	spans, _ := c.take()
	assert.Len(t, spans, 9*11+16)
	stdout, _, code := runProgram(t, "--spec=default", "--otlp", base)
	assert.Zero(t, code)
	assert.Contains(t, stdout, "Their spans go to "+c.url)
	assert.Contains(t, stdout, "\n3 rollouts\n")
	assert.NotContains(t, stdout, "`--", "a tree")
}

func TestOTELVariablesAreIgnoredWithTheOwnCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "0")
	report := runJSON(t, "--spec=default", "--rollouts=1")
	assert.Equal(t, 12, report.Runs[0].Received.Spans)
	assert.Equal(t, 11, report.Runs[0].Received.Rollouts[0].Spans)
}

func TestErrorIsOneLineThatNamesItsCause(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	for _, test := range []struct {
		name string
		args []string
		code int
		text []string
	}{
		{"port in use", []string{"--listen", taken.Addr().String()}, 1, []string{"--listen", taken.Addr().String(), "in use"}},
		{"no collector there", []string{"--spec=all", "--otlp", "http://" + closed.Addr().String()}, 1, []string{"did not reach", closed.Addr().String(), "refused"}},
		{"misspelt group", []string{"--spec", "rollouts"}, 2, []string{`did you mean "rollout"?`, "model_call", "per_rollout", "sandbox"}},
		{"group of no catalog", []string{"--spec", "default,tool_call"}, 2, []string{`"tool_call" at byte 8`}},
		{"nothing to exclude", []string{"--spec", "all,-"}, 2, []string{"byte 4"}},
		{"long s is not s", []string{"--spec", "\u017ferver"}, 2, []string{`"ſerver"`}},
		{"escapes and newlines", []string{"--spec", "\x1b[31mred\nline"}, 2, []string{`\x1b[31mred\nline`}},
		{"spec of 70 KiB", []string{"--spec", strings.Repeat("default,", 70<<10/8)}, 2, []string{"spec too long"}},
		{"one bad spec of two", []string{"--spec", "all", "--spec", "al1"}, 2, []string{"al1"}},
		{"unknown flag", []string{"--specs", "all"}, 2, []string{"--specs"}},
		{"no rollouts", []string{"--rollouts", "0"}, 2, []string{"--rollouts 0", "from 1"}},
		{"too many rollouts", []string{"--rollouts", "501"}, 2, []string{"--rollouts 501"}},
		{"rollouts not a number", []string{"--rollouts", "many"}, 2, []string{"many"}},
		{"argument", []string{"all"}, 2, []string{`"all"`}},
		{"URL without scheme", []string{"--otlp", "localhost:4318"}, 2, []string{"--otlp", "http"}},
		{"detail of a spec", []string{"--detail-one", "--spec", "all"}, 2, []string{"--detail-one and --spec"}},
		{"detail of no spans", []string{"--detail-one", "--bare"}, 2, []string{"--detail-one and --bare"}},
		{"JSON and hold", []string{"--json", "--hold"}, 2, []string{"--json and --hold"}},
		{"bare with a spec", []string{"--bare", "--spec", "all"}, 2, []string{"--bare and --spec"}},
		{"empty URL", []string{"--otlp", ""}, 2, []string{"--otlp"}},
		{"two collectors", []string{"--otlp", "http://localhost:4318", "--listen", "127.0.0.1:0"}, 2, []string{"--otlp and --listen"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, code := runProgram(t, test.args...)
			assert.Equal(t, test.code, code)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			assert.Less(t, len(stderr), 2048)
			assert.True(t, strings.HasPrefix(stderr, "rollout: "), stderr)
			for _, text := range test.text {
				assert.Contains(t, stderr, text)
			}
		})
	}
}

// jsonKeys runs the program and returns the keys of its report, each with the type of its value.
func jsonKeys(t *testing.T, args ...string) []string {
	stdout, stderr, code := runProgram(t, append(args, "--json")...)
	require.Zero(t, code, stderr)
	var report any
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	keys := make(map[string]bool)
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case []any:
			for _, element := range value {
				walk(path+"[]", element)
			}
		case map[string]any:
			for key, element := range value {
				if strings.Contains(path, ".by_") {
					key = "*" // a group, name or process
				}
				walk(path+"."+key, element)
			}
		default:
			keys[fmt.Sprintf("%s %T", path, value)] = true
		}
	}
	walk("", report)
	return slices.Collect(maps.Keys(keys))
}

// Programs read these keys, so none may be renamed or removed.
func TestReportHasExactlyTheseJSONKeys(t *testing.T) {
	t.Parallel()
	var expected []string
	for _, run := range []string{".runs[]", ".live", ".leased"} {
		for _, key := range []string{
			"spec string", "groups[] string",
			"rollouts[].id string", "rollouts[].spec string", "rollouts[].prompt string", "rollouts[].answer string", "rollouts[].reward float64",
			"received.spans float64", "received.bytes float64", "received.traces float64", "received.roots float64", "received.orphans float64",
			"received.by_group.* float64", "received.by_name.* float64", "received.by_process.* float64",
			"received.rollouts[].spans float64", "received.rollouts[].traces float64", "received.one_trace_each bool",
		} {
			expected = append(expected, run+"."+key)
		}
	}
	expected = append(expected, ".leased.rollouts[].leased string",
		".off_site.bare_loop_ns float64", ".off_site.off_site_ns float64", ".off_site.ratio float64")
	assert.ElementsMatch(t, expected, jsonKeys(t, "--rollouts=1"))

	expected = slices.DeleteFunc(expected, func(key string) bool { return !strings.HasPrefix(key, ".runs") })
	for _, key := range []string{
		"overridden bool", "spans float64", "traces float64", "by_process.* float64",
		"id string", "spec string", "prompt string", "answer string", "reward float64",
	} {
		expected = append(expected, ".detail_one.rollouts[]."+key)
	}
	assert.ElementsMatch(t, expected, jsonKeys(t, "--detail-one", "--rollouts=1"))
}

func TestBareRunHasNoSpans(t *testing.T) {
	report := runJSON(t, "--bare", "--rollouts=3")
	require.Len(t, report.Runs, 1)
	assert.Zero(t, report.Runs[0].Received.Spans)
	assert.Equal(t, "42", report.Runs[0].Rollouts[0].Answer)
	stdout, _, code := runProgram(t, "--bare")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "Nothing is instrumented")
	assert.Contains(t, stdout, "3 rollouts, 0 spans")
}

func TestHelpNamesEveryFlag(t *testing.T) {
	stdout, stderr, code := runProgram(t, "--help")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	for _, flag := range []string{"--spec", "--rollouts", "--detail-one", "--json", "--hold", "--bare", "--listen", "--otlp"} {
		assert.Contains(t, stdout, flag)
	}
}
