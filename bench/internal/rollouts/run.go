// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// timeout is how long one job may take. The longest, under valgrind, takes half a minute.
const timeout = 3 * time.Minute

// Job is what the example reports of a job, as far as it matters here.
type Job struct {
	Rollouts []struct {
		Answer string  `json:"answer"`
		Reward float64 `json:"reward"`
	} `json:"rollouts"`
	Received *struct {
		Spans int `json:"spans"`
		Bytes int `json:"bytes"`
	} `json:"received"`
}

// job is one run of the example.
type job struct {
	build    Build
	spec     string
	rollouts int
	to       string   // the URL of the collector; the example's own if empty
	under    []string // the command that runs it
	env      []string
}

// run runs the job, and returns with what the example says of it how much time all four
// processes took: the driver waits for the servers, so that the system counts theirs with the
// driver's.
func (p *Programs) run(ctx context.Context, j job) (Job, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := append(slices.Clone(j.under), p.paths[j.build], "--json", "--spec="+j.spec, fmt.Sprintf("--rollouts=%d", j.rollouts))
	if j.to != "" {
		args = append(args, "--otlp="+j.to)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its servers
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(environment(), j.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Job{}, 0, fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	var report struct {
		Runs []Job `json:"runs"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return Job{}, 0, fmt.Errorf("%s: %w", cmd, err)
	}
	if len(report.Runs) != 1 || len(report.Runs[0].Rollouts) != j.rollouts {
		return Job{}, 0, fmt.Errorf("%s: not one job of %d rollouts in\n%s", cmd, j.rollouts, out)
	}
	return report.Runs[0], cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// environment is that of this process without what would change what is measured.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		for _, prefix := range []string{"OTEL_", "NEMO_", "GOGC=", "GOMEMLIMIT=", "GODEBUG="} {
			if strings.HasPrefix(variable, prefix) {
				return true
			}
		}
		return false
	})
}
