// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// newGate returns a gate with Gym's groups, and the controller that decides what is on behind
// it: to begin with, what the environment asks for, which is nothing if it asks for nothing.
// The driver sets its own spec before each job.
func newGate() (*spangate.Gate, *control.Controller, error) {
	gate := new(spangate.Gate)
	// A program with several instrumented libraries has each of them register here.
	groups := registry.New()
	if err := groups.Register(spangate.Gym, gate); err != nil {
		return nil, nil, err
	}
	base, err := control.FromEnv()
	if err != nil {
		return nil, nil, err
	}
	c, err := control.New(groups, control.StartupBaseline(base))
	return gate, c, err
}
