// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spangate/spangate/control/client"
)

// stopTimeout is how long a server may take to exit before it is killed.
const stopTimeout = 3 * time.Second

// process is one of the four.
type process struct {
	role  string
	pid   int
	url   string
	spans *client.Client // of its endpoint
}

func newProcess(role string, pid int, url, token string) (*process, error) {
	spans, err := client.New(url+spansPath, client.Token(token), client.HTTPClient(untraced))
	return &process{role, pid, url, spans}, err
}

// untraced is for requests that are no part of a rollout.
var untraced = &http.Client{Timeout: callTimeout}

// fleet is the server processes that the driver has started.
type fleet struct {
	agent, model, resources *process

	ctx    context.Context // done when a server has died, or all are to stop
	cancel context.CancelFunc
	exits  *errgroup.Group // a goroutine for each server, which waits for its exit
}

// startFleet starts the servers: this program again, in other roles. The servers that it has
// started when it fails end with this process.
func startFleet(ctx context.Context, collector, token string) (f *fleet, err error) {
	f = &fleet{}
	ctx, f.cancel = context.WithCancel(ctx)
	f.exits, f.ctx = errgroup.WithContext(ctx)
	if f.model, err = f.start(token, "model", collector, "", ""); err != nil {
		return nil, err
	}
	if f.resources, err = f.start(token, "resources", collector, "", ""); err != nil {
		return nil, err
	}
	f.agent, err = f.start(token, "agent", collector, f.model.url, f.resources.url)
	return f, err
}

// start starts one server and waits until it listens.
func (f *fleet) start(token, role string, urls ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(f.ctx, self, append([]string{serveCommand, role}, urls...)...)
	cmd.Env = append(os.Environ(), tokenVariable+"="+token) // other users can read command lines
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel, cmd.WaitDelay = stdin.Close, stopTimeout // the server exits, or is killed
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stdin.Close()
		cmd.Wait()
		return nil, fmt.Errorf("the %s server did not start: %v", role, cmd.ProcessState)
	}
	f.exits.Go(func() error {
		cmd.Wait() // what matters of its error is in the state
		if f.ctx.Err() != nil && cmd.ProcessState.Success() {
			return nil // it was stopped
		}
		return fmt.Errorf("the %s server (process %d) died: %v", role, cmd.Process.Pid, cmd.ProcessState)
	})
	return newProcess(role, cmd.Process.Pid, strings.TrimSpace(url), token)
}

// stop ends every server, and returns an error if one died or had to be killed.
func (f *fleet) stop() error {
	f.cancel()
	return f.exits.Wait()
}
