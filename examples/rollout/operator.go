// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// operator changes which spans are on in running processes, through the endpoint that each
// of them has, as a person would with the page, curl or the spangate command.
type operator struct {
	processes []*process
	token     string
	client    *http.Client // not traced: to change what is traced is no part of a rollout
}

func newOperator(token string, processes ...*process) *operator {
	return &operator{processes: processes, token: token, client: &http.Client{Timeout: callTimeout}}
}

// set turns exactly the groups of spec on in every process, and what is leased besides.
func (o *operator) set(ctx context.Context, spec string) error {
	for _, p := range o.processes {
		if _, err := ask[wire.State](ctx, o, http.MethodPut, p.spans(), wire.Baseline{Spec: spec, Who: "driver"}); err != nil {
			return fmt.Errorf("the spans of the %s: %w", p.role, err)
		}
	}
	return nil
}

// lease turns the groups of spec on in one process, for a time.
func (o *operator) lease(ctx context.Context, p *process, spec string, ttl time.Duration) (wire.Lease, error) {
	return ask[wire.Lease](ctx, o, http.MethodPost, p.spans()+"leases", wire.LeaseRequest{Spec: spec, TTL: ttl.String(), Owner: "driver"})
}

// release ends a lease before its time.
func (o *operator) release(ctx context.Context, p *process, id string) (wire.Lease, error) {
	return ask[wire.Lease](ctx, o, http.MethodDelete, p.spans()+"leases/"+id, nil)
}

// state returns what is on in a process, and because of whom.
func (o *operator) state(ctx context.Context, p *process) (wire.State, error) {
	return ask[wire.State](ctx, o, http.MethodGet, p.spans(), nil)
}

// untilUnleased returns when every lease in a process has ended by itself.
func (o *operator) untilUnleased(ctx context.Context, p *process) error {
	for {
		state, err := o.state(ctx, p)
		if err != nil || len(state.Leases) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// refusal is the error of an endpoint that refuses.
type refusal struct {
	status int
	body   wire.Error
}

func (e *refusal) Error() string { return fmt.Sprintf("%d: %s", e.status, e.body.Message) }

// ask sends one request to an endpoint and returns its answer.
func ask[Answer any](ctx context.Context, o *operator, method, url string, body any) (answer Answer, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Authorization", "Bearer "+o.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := o.client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(io.LimitReader(response.Body, maxBody))
	if response.StatusCode >= http.StatusMultipleChoices {
		e := &refusal{status: response.StatusCode}
		if err := decoder.Decode(&e.body); err != nil {
			return answer, fmt.Errorf("%s %s: %s", method, url, response.Status)
		}
		return answer, e
	}
	if err := decoder.Decode(&answer); err != nil {
		return answer, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return answer, nil
}
