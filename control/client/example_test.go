// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/registry"
)

// exampleProcess starts a process with the groups of NeMo Gym, and returns the URL of its
// endpoint.
func exampleProcess() (url string, stop func()) {
	r := registry.New()
	_ = r.Register(spangate.Gym, new(spangate.Gate))
	c, _ := control.New(r, control.Logger(slog.New(slog.DiscardHandler)))
	s := httptest.NewServer(control.Handler(c, control.Authorize(control.BearerToken("s3cret"))))
	return s.URL, func() { s.Close(); _ = c.Close() }
}

func Example() {
	url, stop := exampleProcess()
	defer stop()
	c, err := client.New(url, client.Token("s3cret"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	lease, err := c.Lease(ctx, wire.LeaseRequest{Spec: "sandbox", Owner: "ann", TTL: "5m", Why: "the slow verifier"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lease.Groups, "for", lease.Owner)

	_, err = c.Release(ctx, lease.ID) // or in five minutes, by itself
	state, _ := c.State(ctx)
	fmt.Println(state.Enabled, err)
	// Output:
	// [sandbox] for ann
	// [] <nil>
}

// A refusal has the fields of package wire; the sentinels are failures that a caller may act on.
func ExampleError() {
	url, stop := exampleProcess()
	defer stop()
	c, _ := client.New(url, client.Token("s3cret"))
	_, err := c.SetBaseline(context.Background(), wire.Baseline{Spec: "sandboxx"})
	var failed *client.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Status, failed.Refusal.Code, failed.Refusal.Unknown)
	}

	c, _ = client.New(url, client.Token("another"))
	_, err = c.ResetBaseline(context.Background())
	fmt.Println(errors.Is(err, client.ErrPermission))
	// Output:
	// 400 unknown_name [{sandboxx 0 sandbox}]
	// true
}

// IfMatch makes a change only to the state that it was decided on.
func ExampleIfMatch() {
	url, stop := exampleProcess()
	defer stop()
	c, _ := client.New(url, client.Token("s3cret"))
	ctx := context.Background()
	state, _ := c.State(ctx)

	_, err := c.SetBaseline(ctx, wire.Baseline{Spec: "agent"}, client.IfMatch(state.Generation))
	fmt.Println(err)
	_, err = c.SetBaseline(ctx, wire.Baseline{Spec: "verify"}, client.IfMatch(state.Generation))
	fmt.Println(errors.Is(err, client.ErrStale))
	// Output:
	// <nil>
	// true
}
