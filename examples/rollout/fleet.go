// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	startTimeout = 30 * time.Second
	// stopTimeout is how long a server may take to exit before it is killed.
	stopTimeout = 3 * time.Second
)

// fleet is the server processes that the driver has started.
type fleet struct {
	agent, model, resources *process

	token   string          // for who may change their spans
	servers *errgroup.Group // one goroutine for each process, which waits for its exit
	ctx     context.Context // done when a process has died or the fleet is to stop
	cancel  context.CancelFunc
}

// process is one that has an endpoint.
type process struct {
	role string
	pid  int
	url  string
}

// spans is the URL at which the process shows what is on.
func (p *process) spans() string { return p.url + spansPath }

// startFleet starts the servers, which are this program again in other roles. The caller
// stops the fleet, also when ctx is done.
func startFleet(ctx context.Context, collector, token string) (*fleet, error) {
	f := &fleet{token: token}
	ctx, f.cancel = context.WithCancel(ctx)
	f.servers, f.ctx = errgroup.WithContext(ctx)
	if err := f.startAll(collector); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

func (f *fleet) startAll(collector string) (err error) {
	to := "--collector=" + collector
	if f.model, err = f.start("model", to); err != nil {
		return err
	}
	if f.resources, err = f.start("resources", to); err != nil {
		return err
	}
	f.agent, err = f.start("agent", to, "--model="+f.model.url, "--resources="+f.resources.url)
	return err
}

// start starts one server and waits until it listens.
func (f *fleet) start(role string, flags ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(f.ctx, self, append([]string{serveCommand, role}, flags...)...)
	// Not on the command line, which every user of the machine can read.
	cmd.Env = append(os.Environ(), tokenVariable+"="+f.token)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = stdin.Close    // the server then exits by itself,
	cmd.WaitDelay = stopTimeout // or is killed
	if err := cmd.Start(); err != nil {
		return nil, err
	}

	late := time.AfterFunc(startTimeout, func() { cmd.Process.Kill() })
	url, err := bufio.NewReader(stdout).ReadString('\n')
	late.Stop()
	if err != nil {
		stdin.Close()
		if wait := cmd.Wait(); wait != nil {
			err = wait
		}
		return nil, withFirstLine(fmt.Errorf("the %s server did not start: %w", role, err), stderr.String())
	}

	p := &process{role: role, pid: cmd.Process.Pid, url: strings.TrimSpace(url)}
	f.servers.Go(func() error {
		cmd.Wait() // what matters of its error is in the state
		if f.ctx.Err() != nil && cmd.ProcessState.Success() {
			return nil // it was told to stop
		}
		return withFirstLine(fmt.Errorf("the %s server (process %d) died: %v", p.role, p.pid, cmd.ProcessState), stderr.String())
	})
	return p, nil
}

// withFirstLine adds the first line that a process left on stderr.
func withFirstLine(err error, stderr string) error {
	if line, _, _ := strings.Cut(stderr, "\n"); line != "" {
		return fmt.Errorf("%w: %s", err, line)
	}
	return err
}

// stop ends every process, and returns an error if one had died or had to be killed.
func (f *fleet) stop() error {
	f.cancel()
	return f.servers.Wait()
}
