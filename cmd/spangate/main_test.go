// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The test binary is on the path as spangate, so that the race detector checks every process.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"spangate": main})
}

// leakChecked fails if the tests leave a goroutine.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	// Scripts wait most of the time, so many run at once, however few processors there are.
	_ = flag.Set("test.parallel", "8")
	slog.SetDefault(slog.New(slog.DiscardHandler))
	// A program with the race detector sleeps a second before it exits; hundreds run here.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	for _, name := range []string{envURL, envToken, "NO_COLOR", "CLICOLOR_FORCE", "http_proxy", "HTTP_PROXY"} {
		os.Unsetenv(name)
	}
	code := m.M.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// command returns the command with these arguments, to be run as a process. One that hangs is
// ended; with the race detector on a busy machine some take a minute.
func command(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, "spangate", args...)
}

// runCommand runs the command to its end.
func runCommand(t *testing.T, args ...string) (stdout, stderr string, code int) {
	cmd := command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
