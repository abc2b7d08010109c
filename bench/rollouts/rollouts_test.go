// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	instructions = flag.Bool("instructions", false, "count instructions instead of CPU time; needs valgrind")
	rollouts     = flag.Int("rollouts", 200, "how many rollouts the longer job has more than the shorter")
)

// few is how many rollouts the shorter job has.
const few = 20

// row is one way to run the example.
type row struct {
	name  string // underscores twice, since Go writes one for a space
	build string // the build tags
	arg   string
	spans int // of a rollout; a job may have one more
}

var rows = []row{
	{"no instrumentation", "spangate_off", "--bare", 0},
	{"compiled out", "spangate_off", "--spec=", 0},
	{"everything off", "", "--spec=", 0},
	{"per__rollout,-server,-http__client", "", "--spec=per_rollout,-server,-http_client", 5},
	{"default", "", "--spec=default", 11},
	{"per__rollout", "", "--spec=per_rollout", 15},
	{"all", "", "--spec=all", 16},
}

// programs has the example by its build tags.
var programs = make(map[string]string)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spangate-rollouts-")
	if err == nil {
		for _, tags := range []string{"", "spangate_off"} {
			programs[tags] = filepath.Join(dir, "rollout"+tags)
			// Without DWARF, whose version valgrind may not know.
			build := exec.Command("go", "build", "-ldflags=-w", "-tags="+tags, "-o", programs[tags], "github.com/spangate/spangate/examples/rollout")
			if out, buildErr := build.CombinedOutput(); buildErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w\n%s", build, buildErr, out))
			}
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func BenchmarkRollout(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf") // of an empty response, which has no bytes
	}))
	defer sink.Close()
	for _, row := range rows {
		// The example's own collector counts the spans. It runs in the driver, so only here.
		own, err := row.run(b.Context(), job{rollouts: few})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(row.name, func(b *testing.B) {
			var less, all cost
			for range b.N {
				for _, j := range []struct {
					rollouts int
					cost     *cost
				}{{few, &less}, {few + *rollouts, &all}} {
					r, err := row.run(b.Context(), job{j.rollouts, sink.URL, *instructions})
					if err != nil {
						b.Fatal(err)
					}
					j.cost.cpu += r.cpu
					j.cost.all += r.all
					j.cost.program += r.program
					j.cost.spangate += r.spangate
				}
			}
			n := float64(b.N * *rollouts)
			b.ReportMetric(0, "ns/op") // the time of a job with its start and end: not shown
			if *instructions {
				b.ReportMetric(float64(all.all-less.all)/n, "instructions/op")
				b.ReportMetric(float64(all.program-less.program)/n, "program-instructions/op")
				b.ReportMetric(float64(all.spangate-less.spangate)/n, "spangate-instructions/op")
				return
			}
			b.ReportMetric((all.cpu-less.cpu).Seconds()/n, "cpu-sec/op")
			b.ReportMetric(float64(own.Received.Spans)/few, "spans/op")
			b.ReportMetric(float64(own.Received.Bytes)/few, "exported-B/op")
		})
	}
}

// job is one run of the example.
type job struct {
	rollouts int
	sink     string // the URL of the collector; the example's own if empty
	count    bool   // run it under valgrind
}

// cost is of all four processes.
type cost struct {
	cpu      time.Duration
	all      int // instructions
	program  int // instructions outside Go's runtime, whose scheduler works more the longer a job takes
	spangate int // instructions in functions of spangate; sites that are inlined are their callers'
}

// result has the fields of the example's report that are compared.
type result struct {
	cost
	Rollouts []struct {
		Answer string
		Reward float64
	}
	Received *struct{ Spans, Bytes int }
}

// run runs a job. Under valgrind, which makes it about forty times slower, a call between the
// processes may exceed the example's timeout, so run tries three times.
func (r row) run(ctx context.Context, j job) (res result, err error) {
	for range 3 {
		if res, err = r.try(ctx, j); err == nil || !j.count {
			break
		}
	}
	return res, err
}

func (r row) try(ctx context.Context, j job) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(filepath.Dir(programs[r.build]), "profiles-")
	if err != nil {
		return result{}, err
	}
	args := []string{programs[r.build], "--json", r.arg, fmt.Sprintf("--rollouts=%d", j.rollouts)}
	if j.sink != "" {
		args = append(args, "--otlp="+j.sink)
	}
	env := environment()
	if j.count {
		// Not callgrind, which fails on the signal that a server has ended.
		args = append([]string{"valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes", "--cachegrind-out-file=" + filepath.Join(dir, "%p")}, args...)
		env = append(env, "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // the example ends its servers
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return result{}, fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	var report struct{ Runs []result }
	if err := json.Unmarshal(out, &report); err != nil {
		return result{}, fmt.Errorf("%s: %w", cmd, err)
	}
	if len(report.Runs) != 1 || len(report.Runs[0].Rollouts) != j.rollouts {
		return result{}, fmt.Errorf("%s: not one job of %d rollouts in\n%s", cmd, j.rollouts, out)
	}
	res := report.Runs[0]
	// The driver waits for its servers, so their time is in its own.
	res.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if !j.count {
		return res, nil
	}
	profiles, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(profiles) != 4 {
		return result{}, fmt.Errorf("cachegrind counted %d processes, not 4 (%v)", len(profiles), err)
	}
	for _, profile := range profiles {
		text, err := os.ReadFile(profile)
		if err == nil {
			err = res.add(string(text))
		}
		if err != nil {
			return result{}, fmt.Errorf("%s: %w", profile, err)
		}
	}
	return res, nil
}

// add adds the counts of a profile of cachegrind: for each function a line "fn=" and its name, then
// lines of a line number and a count.
func (c *cost) add(profile string) error {
	var runtime, spangate bool
	before := c.all
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "fn="); ok {
			runtime = strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/") || strings.HasPrefix(name, "internal/runtime/")
			spangate = strings.HasPrefix(name, "github.com/spangate/spangate")
			continue
		}
		number, count, _ := strings.Cut(line, " ")
		if _, err := strconv.Atoi(number); err != nil {
			continue // a header, or the sum
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			return fmt.Errorf("the line %q has no count", line)
		}
		c.all += n
		if !runtime {
			c.program += n
		}
		if spangate {
			c.spangate += n
		}
	}
	if c.all == before {
		return errors.New("the profile has no counts")
	}
	return nil
}

// environment returns that of this process without variables that would change what is measured.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{"OTEL_", "NEMO_", "GOGC=", "GOMEMLIMIT=", "GODEBUG="}, func(prefix string) bool {
			return strings.HasPrefix(variable, prefix)
		})
	})
}

func TestEachRowDoesTheSameWorkAndHasItsSpans(t *testing.T) {
	const n = 6
	var first result
	for i, row := range rows {
		res, err := row.run(t.Context(), job{rollouts: n})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = res
		}
		if !slices.Equal(res.Rollouts, first.Rollouts) {
			t.Errorf("%s: the answers are %v, in the first row %v", row.name, res.Rollouts, first.Rollouts)
		}
		if got := res.Received; got == nil || got.Spans < n*row.spans || got.Spans > n*row.spans+min(1, row.spans) || got.Bytes > 0 != (row.spans > 0) {
			t.Errorf("%s: %+v, not %d spans a rollout", row.name, got, row.spans)
		}
		if res.cpu <= 0 {
			t.Errorf("%s took no time", row.name)
		}
	}
}

func TestInstructionsAreSummedByPackage(t *testing.T) {
	var c cost
	for range 2 { // processes
		if err := c.add("desc: I1 cache:\ncmd: rollout 7 8\nevents: Ir\nfl=???\nfn=runtime.sysmon\n0 1\n" +
			"fn=github.com/spangate/spangate/otelgate.Do\n0 20\n0 30\nfn=main.call[...]\n0 400\nsummary: 451\n"); err != nil {
			t.Fatal(err)
		}
	}
	if c.all != 902 || c.program != 900 || c.spangate != 100 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"", "summary: 3\n", "fn=main.main\n0 many\n"} {
		if err := c.add(bad); err == nil {
			t.Errorf("%q is not an error", bad)
		}
	}
}

func TestEnvironmentLeavesOutVariablesThatChangeTheResult(t *testing.T) {
	for _, variable := range []string{"OTEL_TRACES_SAMPLER", "NEMO_GYM_OTEL_ENABLED", "GOGC"} {
		t.Setenv(variable, "1")
		if slices.Contains(environment(), variable+"=1") {
			t.Errorf("%s is left", variable)
		}
	}
}
