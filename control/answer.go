// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/internal/page"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
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

// answer writes v as JSON. An error of writing means that the client has gone.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(append(marshal(v), '\n'))
}

// marshal returns the JSON of a type of package wire, which has some whatever it holds. It is
// not indented, so that a state is short enough to be sent back.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func refuse(w http.ResponseWriter, status int, e wire.Error) { answer(w, status, e) }

// snapshot is the state of one generation as JSON and as a page, without what differs between
// two answers of one generation: Now, Writable, and the Left of each lease. It is immutable.
type snapshot struct {
	view  *view
	roots []string // which may change within a generation
	tag   string
	json  [][]byte // split where something is missing: Now, Writable, and the Left of each lease
	page  *page.Page
}

// snapshots keeps the last snapshot, so that it is built once for any number of requests. The
// zero value is ready to use.
type snapshots struct {
	mu   sync.Mutex
	last *snapshot
}

// get returns the snapshot of the current generation. Only one is built at a time. A caller that
// had to wait for that gets the generation that is current after the wait.
func (s *snapshots) get(c *Controller) *snapshot {
	roots := c.roots(c.view.Load()) // calls the program, so not with the lock held
	s.mu.Lock()
	defer s.mu.Unlock()
	v := c.view.Load()
	if s.last == nil || s.last.view != v || !slices.Equal(s.last.roots, roots) {
		state := c.show(v, roots)
		s.last = &snapshot{view: v, roots: roots, tag: quote(state.Generation), json: split(state), page: page.New(state)}
	}
	return s.last
}

// split returns the JSON of a state in parts, between which its Now, its Writable and the Left
// of its leases belong, in this order.
func split(state State) [][]byte {
	text := marshal(state)
	var parts [][]byte
	cut := func(name, value string) {
		// Within a string the quotes of the name would be escaped.
		before, after, _ := bytes.Cut(text, []byte(`,"`+name+`":`+value))
		parts = append(parts, append(before[:len(before):len(before)], `,"`+name+`":`...))
		text = after
	}
	cut("now", `"0001-01-01T00:00:00Z"`)
	cut("writable", `false`)
	for range state.Leases {
		cut("left", `""`)
	}
	return append(parts, append(text, '\n'))
}

// answerState writes the state as JSON.
func (h *handler) answerState(w http.ResponseWriter) {
	s := h.snapshots.get(h.c)
	w.Header().Set("ETag", s.tag)
	w.Header().Set("Content-Type", typeJSON)
	now := time.Now()
	out := bufio.NewWriterSize(w, 16<<10)
	_, _ = out.Write(s.json[0])
	_, _ = out.Write(marshal(shown(now)))
	_, _ = out.Write(s.json[1])
	_, _ = out.Write(strconv.AppendBool(out.AvailableBuffer(), h.authorize != nil))
	for i, l := range s.view.wanted.leases {
		_, _ = out.Write(s.json[2+i])
		_, _ = out.Write(append(append(append(out.AvailableBuffer(), '"'), l.left(now).String()...), '"'))
	}
	_, _ = out.Write(s.json[len(s.json)-1])
	_ = out.Flush()
}

// answerPage writes the state as a page for a browser, unless the client has it.
func (h *handler) answerPage(w http.ResponseWriter, r *http.Request) {
	s := h.snapshots.get(h.c)
	now := time.Now()
	tag := s.page.Tag(now)
	w.Header().Set("ETag", "W/"+tag)
	if matches(r.Header["If-None-Match"], tag, weakly) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = s.page.Write(w, shown(now), h.authorize != nil, func(i int) time.Duration { return s.view.wanted.leases[i].left(now) })
}

// answerLease writes a lease, which may have ended since.
func (h *handler) answerLease(w http.ResponseWriter, status int, l *lease) {
	v := h.c.view.Load()
	w.Header().Set("ETag", quote(h.c.tag(v.state.Generation())))
	shownAs := newSelector(v).lease(l)
	shownAs.Left = l.left(time.Now()).String()
	answer(w, status, shownAs)
}

// fail answers and logs a change that was refused. The record has neither the text of the error,
// nor the value of a field, nor a name that is no field's, since a token could be in them.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, by author, err error) {
	bad := h.refusal(err)
	field := bad.body.Field
	if !isField(field) {
		field = ""
	}
	h.c.logRefusal(
		slog.String("method", spec.Head(r.Method)), slog.String("path", spec.Head(r.URL.Path)), slog.String("from", spec.Head(r.RemoteAddr)),
		slog.String("who", by.who), slog.Int("status", bad.status), slog.String("code", bad.body.Code), slog.String("field", field))
	if bad.challenge != "" {
		w.Header().Set("WWW-Authenticate", bad.challenge)
	}
	refuse(w, bad.status, bad.body)
}

// refusal returns the answer to a change that was refused with err.
func (h *handler) refusal(err error) *badRequest {
	var bad *badRequest
	if errors.As(err, &bad) {
		return bad
	}
	status, e := http.StatusBadRequest, wire.Error{Code: wire.CodeBadField, Message: err.Error()}
	field := "spec"
	var of *Error
	if errors.As(err, &of) && of.Op == opQuiet {
		field = "quiet"
	}
	var unknown *spangate.ParseError
	switch {
	case errors.Is(err, spangate.ErrUnknownName) && errors.As(err, &unknown):
		e.Code, e.Field, e.Valid = wire.CodeUnknownName, field, unknown.Valid
		for _, u := range unknown.Unknown {
			e.Unknown = append(e.Unknown, wire.UnknownName(u))
		}
	case errors.Is(err, spangate.ErrSpecTooLong), errors.Is(err, ErrSpec), errors.Is(err, ErrNoEffect):
		e.Field = field
	case errors.Is(err, ErrTTL):
		e.Field = "ttl"
	case errors.Is(err, ErrOwner):
		e.Field = "owner"
	case errors.Is(err, ErrWhy):
		e.Field = "why"
	case errors.Is(err, ErrNoLease):
		status, e.Code = http.StatusNotFound, wire.CodeNotFound
	case errors.Is(err, ErrTooManyLeases), errors.Is(err, ErrLeasesTooLong):
		status, e.Code = http.StatusConflict, wire.CodeTooManyLeases
	case errors.Is(err, ErrClosed):
		status, e.Code = http.StatusGone, wire.CodeClosed
	case errors.Is(err, errStale):
		status, e.Code = http.StatusPreconditionFailed, wire.CodeStale
		e.Generation = h.c.generation()
		e.Message = "the state is no longer of the generation in If-Match; get it again, and decide again"
	}
	return &badRequest{status: status, body: e}
}
