// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// State is the state of a process, with the JSON that it came as: a newer process may say
// more than this client knows.
type State struct {
	wire.State
	JSON json.RawMessage
}

// Lease is a lease, with the JSON that it came as.
type Lease struct {
	wire.Lease
	JSON json.RawMessage
}

// Get returns the state, or nil if it still is of the generation since, which may be empty.
func (c *Client) Get(ctx context.Context, since string) (*State, error) {
	return c.state(ctx, request{method: http.MethodGet, ifNoneMatch: since})
}

// The changes that follow are made only if the state is of the generation ifMatch, unless
// that is empty.

// SetBaseline makes b the baseline.
func (c *Client) SetBaseline(ctx context.Context, b wire.Baseline, ifMatch string) (*State, error) {
	return c.state(ctx, request{method: http.MethodPut, body: b, ifMatch: ifMatch})
}

// Reset goes back to the start-up baseline.
func (c *Client) Reset(ctx context.Context, ifMatch string) (*State, error) {
	return c.state(ctx, request{method: http.MethodDelete, ifMatch: ifMatch})
}

// Lease asks for a lease.
func (c *Client) Lease(ctx context.Context, want wire.LeaseRequest, ifMatch string) (*Lease, error) {
	return c.lease(ctx, request{method: http.MethodPost, path: "leases", body: want, ifMatch: ifMatch})
}

// Renew lets a lease live for ttl from now on.
func (c *Client) Renew(ctx context.Context, id string, ttl time.Duration, ifMatch string) (*Lease, error) {
	return c.lease(ctx, request{method: http.MethodPatch, path: leasePath(id), body: wire.LeasePatch{TTL: ttl.String()}, ifMatch: ifMatch})
}

// Release ends a lease.
func (c *Client) Release(ctx context.Context, id string, ifMatch string) (*Lease, error) {
	return c.lease(ctx, request{method: http.MethodDelete, path: leasePath(id), ifMatch: ifMatch})
}

// maxGeneration is the length in bytes of the longest generation that is accepted: many times
// that of a real one. The bound is needed since watch remembers thousands.
const maxGeneration = 256

func leasePath(id string) string { return "leases/" + url.PathEscape(id) }

func (c *Client) state(ctx context.Context, r request) (*State, error) {
	var s State
	var err error
	if s.JSON, err = c.send(ctx, r, &s.State); err != nil || s.JSON == nil {
		return nil, err
	}
	long := func(c wire.Change) bool { return len(c.Generation) > maxGeneration }
	if s.Generation == "" || len(s.Generation) > maxGeneration || slices.ContainsFunc(s.Changes, long) {
		return nil, c.not("a state")
	}
	return &s, nil
}

func (c *Client) lease(ctx context.Context, r request) (*Lease, error) {
	var l Lease
	var err error
	if l.JSON, err = c.send(ctx, r, &l.Lease); err != nil {
		return nil, err
	}
	if l.ID == "" {
		return nil, c.not("a lease")
	}
	return &l, nil
}

func (c *Client) not(what string) error {
	return c.unexpected(http.StatusOK, "with JSON that is not %s; see that the endpoint is mounted there, and the path", what)
}
