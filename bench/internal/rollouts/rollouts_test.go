// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"bytes"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spangate/spangate/bench/internal/result"
)

func TestEveryBuildDoesTheSameWorkAndOnlyTheInstrumentedHasSpans(t *testing.T) {
	p, err := NewPrograms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const n = 6
	var want Job
	for build, spans := range [builds]int{Instrumented: 16*n + 1, CompiledOut: 0, Bare: 0} {
		got, cpu, err := p.run(t.Context(), job{build: Build(build), spec: "all", rollouts: n})
		if err != nil {
			t.Fatal(err)
		}
		if cpu <= 0 {
			t.Errorf("build %d took no time", build)
		}
		if got.Received == nil || got.Received.Spans != spans {
			t.Errorf("build %d: %+v, want %d spans", build, got.Received, spans)
		}
		if build == 0 {
			want = got
		} else if !slices.Equal(got.Rollouts, want.Rollouts) {
			t.Errorf("build %d answers %v, not %v", build, got.Rollouts, want.Rollouts)
		}
	}

	for build, instrumented := range [builds]bool{Instrumented: true, CompiledOut: true, Bare: false} {
		symbols, err := exec.Command("go", "tool", "nm", p.paths[build]).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{"/otelhttp.", "/otelgate.", "/otel/sdk/trace.", "/baggage."} {
			if bytes.Contains(symbols, []byte(of)) != instrumented {
				t.Errorf("build %d: that there is something of %s is %v", build, of, !instrumented)
			}
		}
	}

	// The builds take long, so the report of them is measured here too.
	report, err := p.measure(t.Context(), Options{Rounds: 1, Few: 1, Many: n, Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	ofARollout := map[string]float64{"": 0, "per_rollout,-server,-http_client": 5, "default": 11, "per_rollout": 15, "all": 16}
	for _, row := range report.Rows {
		// A job adds a span of its own where job is on.
		if spans, ok := ofARollout[row.Spec]; !ok || row.Spans < spans || row.Spans > spans+1./n {
			t.Errorf("%s has %v spans, want %v", row.Name, row.Spans, spans)
		}
		if (row.Bytes > 0) != (row.Spans > 0) || row.Instructions != nil {
			t.Errorf("%+v", row)
		}
	}
	if err := report.Print(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestInstructionsAreCountedByWhoseTheyAre(t *testing.T) {
	var c counts
	for range 2 { // of two processes
		if err := c.add("desc: I1 cache:\ncmd: rollout 7 8\nevents: Ir\nfl=???\nfn=runtime.sysmon\n0 1\n" +
			"fn=github.com/spangate/spangate/otelgate.Do\n0 20\n0 30\nfn=main.call[...]\n0 400\nsummary: 451\n"); err != nil {
			t.Fatal(err)
		}
	}
	if want := (counts{all: 902, program: 900, spangate: 100}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	for _, bad := range []string{"", "summary: 3\n", "fn=main.main\n0 many\n"} {
		if err := c.add(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestVerdictIsBrokenOnlyBeyondTheNoise(t *testing.T) {
	for _, c := range []struct {
		low, median, high float64
		ok                bool
	}{
		{0.999, 1.0, 1.001, true},
		{0.99, 1.02, 1.03, true},
		{1.02, 1.03, 1.04, false},
	} {
		r := &Report{OffToOut: &OffToOut{Program: result.Estimate{Low: c.low, Median: c.median, High: c.high}}}
		if says, ok := r.Verdict(); ok != c.ok {
			t.Errorf("%+v: %v, %s", c, ok, says)
		}
	}
	if says, ok := new(Report).Verdict(); !ok || !strings.Contains(says, "not counted") {
		t.Errorf("%v, %s", ok, says)
	}
}

func TestWhatIsInTheEnvironmentForOthersIsLeftOut(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "perhaps")
	t.Setenv("GOGC", "1")
	for _, variable := range environment() {
		if strings.HasPrefix(variable, "OTEL_") || strings.HasPrefix(variable, "NEMO_") || strings.HasPrefix(variable, "GOGC=") {
			t.Errorf("%s is left", variable)
		}
	}
}
