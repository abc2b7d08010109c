// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spangate/spangate/control/client"
)

// stopTimeout is how long a server may take to exit before it is killed.
const stopTimeout = 3 * time.Second

// process is one of the four processes of the example.
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

// untraced is for requests that are not part of a rollout.
var untraced = &http.Client{Timeout: callTimeout}

// start starts a server, which is this program in another role, and waits until it listens.
func (d *driver) start(role string, urls ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(d.ctx, self, append([]string{serveCommand, role}, urls...)...)
	cmd.Env = append(os.Environ(), tokenVariable+"="+d.token) // other users can read command lines
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
	d.exits.Go(func() error {
		cmd.Wait() // ProcessState has its error
		if d.ctx.Err() != nil && cmd.ProcessState.Success() {
			return nil // it was stopped
		}
		return fmt.Errorf("the %s server (process %d) died: %v", role, cmd.Process.Pid, cmd.ProcessState)
	})
	return newProcess(role, cmd.Process.Pid, strings.TrimSpace(url), d.token)
}
