// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
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

// marshal returns v as JSON, not indented, so that a state is short enough to be sent back. v must
// be of a type that always encodes, as those of package wire.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// snapshot is the state of one generation as JSON and as a page, without what differs between
// two answers of one generation: Now, Writable, and the Left of each lease. It is immutable.
type snapshot struct {
	view     *view
	roots    []string // may change within a generation, as sample may
	sample   *sample
	file     *File // may change within a generation too
	hadRoots bool  // a snapshot of this generation has had roots, so an equal tag may be of another state
	tag      string
	json     [][]byte // between the parts belong the Left of each lease, Now and Writable
	page     *page.Page
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
	origins := c.origins(c.view.Load()) // calls the program, so not with the lock held
	m, _ := c.sample(maxSampleAge)      // calls the program too
	file := c.file.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	v := c.view.Load()
	if s.last != nil && m != nil && m.at.Before(s.last.sample.at) {
		m = s.last.sample
	}
	roots := v.roots(origins)
	same := s.last != nil && s.last.view == v
	if !same || !slices.Equal(s.last.roots, roots) || s.last.sample != m || s.last.file != file {
		state := wireState(c.stateOf(v, roots, m, time.Time{}))
		s.last = &snapshot{
			view: v, roots: roots, sample: m, file: file, hadRoots: len(roots) > 0 || same && s.last.hadRoots,
			tag: quote(state.Generation), json: split(state), page: page.New(state),
		}
	}
	return s.last
}

// split returns the JSON of a state in parts: between them belong the Left of each lease, Now and
// Writable, in this order. A random mark stands in the gaps.
func split(state wire.State) [][]byte {
	mark := rand.Text()
	state.Leases = slices.Clone(state.Leases)
	for i := range state.Leases {
		state.Leases[i].Left = mark
	}
	text := marshal(struct {
		wire.State
		Now      string `json:"now"` // Now and Writable hide those of State
		Writable string `json:"writable"`
	}{state, mark, mark})
	return bytes.Split(append(text, '\n'), []byte(`"`+mark+`"`))
}

func (h *handler) answerState(w http.ResponseWriter, s *snapshot) {
	w.Header().Set("ETag", s.tag)
	w.Header().Set("Content-Type", typeJSON)
	now := time.Now()
	out := bufio.NewWriterSize(w, 16<<10)
	for i, part := range s.json {
		_, _ = out.Write(part)
		switch leases := s.view.intent.leases; i - len(leases) {
		case 0:
			_, _ = out.Write(marshal(utcMilli(now)))
		case 1:
			_, _ = out.Write(marshal(h.authorize != nil))
		case 2: // the end
		default:
			_, _ = out.Write(append(append(append(out.AvailableBuffer(), '"'), leases[i].left(now).String()...), '"'))
		}
	}
	_ = out.Flush()
}

// answerPage writes the state as a page for a browser, unless the client has it.
func (h *handler) answerPage(w http.ResponseWriter, r *http.Request, s *snapshot) {
	now := time.Now()
	tag := s.page.Tag(now)
	w.Header().Set("ETag", "W/"+tag)
	if unchanged(r.Header, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = s.page.Write(w, utcMilli(now), h.authorize != nil, func(i int) time.Duration { return s.view.intent.leases[i].left(now) })
}

// answerLease writes a lease, which may have ended since.
func (h *handler) answerLease(w http.ResponseWriter, status int, l *lease) {
	v := h.c.view.Load()
	w.Header().Set("ETag", quote(v.tag()))
	answer(w, status, wireLease(newResolver(v).lease(l, time.Now())))
}

// maxUnknown is how many unknown names an answer lists. It is more than have a suggestion, so that a
// client does not take the names with a suggestion for all.
const maxUnknown = 100

// fail answers and logs a change that was refused. The record has neither the text of the error,
// nor the value of a field, nor an unknown field name: a token could be in any of them.
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
	answer(w, bad.status, bad.body)
}

// refusal returns the answer to a change that was refused with err.
func (h *handler) refusal(err error) *badRequest {
	var bad *badRequest
	if errors.As(err, &bad) {
		return bad
	}
	bad = &badRequest{status: http.StatusBadRequest, body: wire.Error{Code: wire.CodeBadField, Message: err.Error()}}
	specField := "spec"
	var failed *Error
	if errors.As(err, &failed) && failed.Op == opQuiet {
		specField = "quiet"
	}
	var unknown *spangate.ParseError
	switch {
	case errors.Is(err, spangate.ErrUnknownName) && errors.As(err, &unknown):
		bad.body.Code, bad.body.Field, bad.body.Valid = wire.CodeUnknownName, specField, unknown.Valid
		listed := unknown.Unknown[:min(len(unknown.Unknown), maxUnknown)]
		bad.body.Unknown = convert(listed, func(u spangate.UnknownName) wire.UnknownName { return wire.UnknownName(u) })
	case errors.Is(err, spangate.ErrSpecTooLong), errors.Is(err, ErrSpec), errors.Is(err, ErrNoEffect):
		bad.body.Field = specField
	case errors.Is(err, ErrTTL):
		bad.body.Field = "ttl"
	case errors.Is(err, ErrOwner) && failed != nil:
		bad.body.Field = failed.Op
	case errors.Is(err, ErrWhy):
		bad.body.Field = "why"
	case errors.Is(err, ErrNoLease):
		bad.status, bad.body.Code = http.StatusNotFound, wire.CodeNotFound
	case errors.Is(err, ErrTooManyLeases):
		bad.status, bad.body.Code = http.StatusConflict, wire.CodeTooManyLeases
	case errors.Is(err, ErrClosed):
		bad.status, bad.body.Code = http.StatusGone, wire.CodeClosed
	case errors.Is(err, errStale):
		bad.status, bad.body.Code, bad.body.Generation = http.StatusPreconditionFailed, wire.CodeStale, h.c.view.Load().tag()
	}
	return bad
}
