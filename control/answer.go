// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
)

// secure sets what every answer has: no cache keeps it, no other site frames or loads it, and
// a page of it runs nothing but what the endpoint serves.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// answer writes v as JSON. What can't be written went to somebody who no longer listens.
func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v) // not indented, so that a state is short enough to be sent back
	if err != nil {
		panic(err) // the types of package wire have JSON, whatever they hold
	}
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

func refuse(w http.ResponseWriter, status int, e wire.Error) { answer(w, status, e) }

// fail answers a change that was refused.
func (h *handler) fail(w http.ResponseWriter, err error) {
	var bad *badRequest
	if errors.As(err, &bad) {
		refuse(w, bad.status, bad.body)
		return
	}
	status, e := http.StatusBadRequest, wire.Error{Code: wire.CodeBadField, Message: err.Error()}
	var unknown *spangate.ParseError
	switch {
	case errors.Is(err, spangate.ErrUnknownName) && errors.As(err, &unknown):
		e.Code, e.Field, e.Valid = wire.CodeUnknownName, "spec", unknown.Valid
		for _, u := range unknown.Unknown {
			e.Unknown = append(e.Unknown, wire.UnknownName(u))
		}
	case errors.Is(err, spangate.ErrSpecTooLong):
		e.Field = "spec"
	case errors.Is(err, ErrTTL):
		e.Field = "ttl"
	case errors.Is(err, ErrOwner):
		e.Field = "owner"
	case errors.Is(err, ErrWhy):
		e.Field = "why"
	case errors.Is(err, ErrNoLease):
		status, e.Code = http.StatusNotFound, wire.CodeNotFound
	case errors.Is(err, ErrTooManyLeases):
		status, e.Code = http.StatusConflict, wire.CodeTooManyLeases
	case errors.Is(err, ErrClosed):
		status, e.Code = http.StatusGone, wire.CodeClosed
	case errors.Is(err, errStale):
		status, e.Code = http.StatusPreconditionFailed, wire.CodeStale
		e.Generation = h.c.generation()
		e.Message = "the state is no longer of the generation in If-Match; get it again, and decide again"
	}
	refuse(w, status, e)
}
