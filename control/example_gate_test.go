// SPDX-License-Identifier: Apache-2.0

//go:build !spangate_off

package control_test

import (
	"fmt"
	"sync/atomic"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

// A program without package otelgate counts its spans itself.
func ExampleScopes() {
	r := registry.New()
	var gate spangate.Gate
	var verified atomic.Uint64
	if err := r.Register(spangate.Gym, &gate); err != nil {
		fmt.Println(err)
	}
	c, err := control.New(r, control.StartupBaseline(control.Baseline{Spec: "verify"}), control.Scopes(func() ([]control.Scope, []control.UnmatchedRule) {
		sites := []control.Site{{Gate: &gate, Group: spangate.BitVerify, Started: verified.Load()}}
		return []control.Scope{{Name: "example.com/verifier", Sites: sites}}, nil
	}))
	if err != nil {
		fmt.Println(err)
	}
	defer c.Close()

	if gate.On(spangate.BitVerify) {
		verified.Add(1)
		// Start the span.
	}
	for _, scope := range c.State().Scopes {
		fmt.Println(scope.Name, scope.Sites[0].Groups, scope.Spans.Started)
	}
	// Output: example.com/verifier [verify] 1
}
