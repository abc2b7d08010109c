// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/share"
	"github.com/spangate/spangate/internal/spec"
)

// The bounds of a body, in bytes. A State with 10,000 leases on all of 15 groups has a fraction of
// maxState; its longest value is a group, which names the leases that add it.
const (
	maxBody  = 64 << 10 // without the fields that only a State has
	maxState = 32 << 20 // with them
	maxValue = 4 << 20  // one value, which has to be in memory
	maxNames = 50_000   // how many of the names that a State lists are kept
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

// shape is what the body of a route holds: the fields, sets of fields of which one must be
// present, and fields that must not be empty.
type shape struct {
	route    string
	fields   []string
	required [][]string
	notEmpty []string
}

var (
	putShape   = &shape{"PUT /", fieldsOf[wire.Baseline](), [][]string{{"spec"}}, nil}
	postShape  = &shape{"POST /leases", fieldsOf[wire.LeaseRequest](), [][]string{{"ttl"}, {"spec", "quiet", "revoke"}}, []string{"share", "match"}}
	patchShape = &shape{"PATCH /leases/{id}", fieldsOf[wire.LeasePatch](), [][]string{{"ttl"}}, nil}
	shapes     = []*shape{putShape, postShape, patchShape}
)

var (
	stateFields = fieldsOf[wire.State]()
	stateLists  = fieldsOf[wire.State](reflect.Slice)
	// ttlMistakes are names that a client may use for the field ttl by mistake.
	ttlMistakes = []string{"expires", "expiry", "end", "until", "for", "duration", "timeout"}
)

// generation is the field that tells a State from a Baseline.
const generation = "generation"

// allowPending is the only field that is a boolean.
const allowPending = "allow_pending"

// fieldsOf returns the names of the JSON fields of a struct: those of some kinds, or all.
func fieldsOf[T any](kinds ...reflect.Kind) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && (kinds == nil || slices.Contains(kinds, field.Type.Kind())) {
			names = append(names, name)
		}
	}
	return names
}

// isField reports whether a route takes the field.
func isField(name string) bool {
	return slices.ContainsFunc(shapes, func(r *shape) bool { return slices.Contains(r.fields, name) })
}

// badRequest is a request that is refused before anything is changed, with its answer.
type badRequest struct {
	status    int
	body      wire.Error
	challenge string // the header WWW-Authenticate, or empty
}

func (e *badRequest) Error() string { return e.body.Message }

// decode reads the body of r into a T, whose fields are those of the route. If the body is a whole
// State, listed has the names that it lists.
func decode[T any](r *http.Request, s *shape) (in T, listed map[string]bool, err error) {
	f := &fields{shape: s, values: make(map[string]json.RawMessage)}
	if err := f.read(r); err != nil {
		return in, nil, err
	}
	object, err := json.Marshal(f.values)
	if err == nil {
		err = json.Unmarshal(object, &in)
	}
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
		must := "must be a string"
		if e.Field == allowPending {
			must = "must be true or false"
		}
		err = badField(wire.CodeBadField, e.Field, must)
	}
	return in, f.listed, cmp.Or(err, f.missing(), f.empty(r), checkQuery(r))
}

// fields are the fields of a body.
type fields struct {
	shape  *shape
	values map[string]json.RawMessage
	listed names // if the body is a whole State
}

// missing returns an error if a required field is absent or null.
func (f *fields) missing() error {
	for _, oneOf := range f.shape.required {
		if !slices.ContainsFunc(oneOf, func(name string) bool { return len(f.values[name]) > 0 && string(f.values[name]) != "null" }) {
			return badField(wire.CodeMissingField, oneOf[0], "it is missing")
		}
	}
	return nil
}

// empty returns an error if a field is given and empty that must not be: a client that lost the value of
// share or match would get a lease on all traces. The form of the page is exempt: without a script it
// sends every field.
func (f *fields) empty(r *http.Request) error {
	for _, name := range f.shape.notEmpty {
		if string(f.values[name]) == `""` && !prefersHTML(r.Header) {
			return badField(wire.CodeBadField, name, "it is empty; leave it out for a lease on all traces")
		}
	}
	return nil
}

// noFields returns an error if r has a field or a body.
func noFields(r *http.Request) error {
	if n, _ := io.ReadFull(cmp.Or[io.Reader](r.Body, http.NoBody), make([]byte, 1)); n > 0 {
		return malformed(0, "DELETE takes no fields; send it without a body")
	}
	return checkQuery(r)
}

// checkQuery returns an error if a field is in the query, where it would have no effect.
func checkQuery(r *http.Request) error {
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if isField(name) || slices.Contains(ttlMistakes, name) {
			return badField(wire.CodeBadField, name, "it is in the query; fields belong in the body")
		}
	}
	return nil
}

// read reads the body, and refuses a field that the route does not take.
func (f *fields) read(r *http.Request) error {
	// Not mime.ParseMediaType, which refuses parameters that don't matter here.
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	coding := r.Header.Get("Content-Encoding")
	b := &body{r: cmp.Or[io.Reader](r.Body, http.NoBody)}
	switch {
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return unsupported("content encoding", coding)
	case mediaType == typeJSON:
		b.d = json.NewDecoder(b)
		return f.readJSON(b)
	case mediaType == typeForm:
		return f.readForm(b)
	default:
		return unsupported("content type", mediaType)
	}
}

// body reads a request body and bounds its length. The bounds are checked on each Read: the decoder
// calls it only if the current value needs more, so bytes that were read ahead do not count.
type body struct {
	r             io.Reader
	d             *json.Decoder // reads from the body; nil for a form
	read, skipped int64         // bytes; skipped are those of fields that only a State has
	skipping      bool
	err           error // the error that ended the reading
}

func (b *body) Read(p []byte) (n int, err error) {
	switch {
	case b.read > maxState:
		b.err = tooLarge("the body", maxState)
	case !b.skipping && b.read-b.skipped > maxBody:
		b.err = tooLarge("the body", maxBody)
	case b.d != nil && b.read-b.d.InputOffset() > maxValue:
		b.err = tooLarge("a value in the body", maxValue)
	default:
		n, err = b.r.Read(p[:min(len(p), 32<<10)]) // so that the bounds are checked often
		b.read += int64(n)
		if n > 0 || err == nil {
			return n, nil // an error is returned by the next Read, after the bounds
		}
		if errors.Is(err, io.EOF) {
			return 0, err
		}
		b.err = malformed(b.read, "the body breaks off: %v", err)
	}
	return 0, b.err
}

// readJSON reads one JSON object and nothing after it. The names of its fields are
// case-sensitive, and a field may not come twice. Fields that only a State has are read one
// element at a time, so that memory does not depend on their size.
func (f *fields) readJSON(b *body) error {
	bad := func(what string) error {
		return cmp.Or(b.err, malformed(b.d.InputOffset(), "%s at byte %d of the body", what, b.d.InputOffset()))
	}
	if token, err := b.d.Token(); err != nil || token != json.Delim('{') {
		return bad("no JSON object")
	}
	listed, ofState := make(names), "" // a field that only a State has
	for b.d.More() {
		token, err := b.d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return bad("bad JSON")
		}
		if f.values[name] != nil {
			return badField(wire.CodeBadField, name, "it is given twice")
		}
		value := json.RawMessage("null")
		switch start := b.d.InputOffset(); {
		case slices.Contains(f.shape.fields, name):
			err = b.d.Decode(&value)
		case f.shape != putShape || !slices.Contains(stateFields, name):
			return f.shape.unknown(name)
		default:
			ofState, b.skipping = name, true
			if slices.Contains(stateLists, name) {
				err = listed.read(b.d, name)
			} else {
				err = b.d.Decode(&value)
			}
			b.skipping = false
			b.skipped += b.d.InputOffset() - start
		}
		if err != nil {
			return bad("bad JSON")
		}
		if !utf8.Valid(value) {
			return malformed(b.d.InputOffset(), "field %q is not UTF-8", name)
		}
		f.values[name] = value
	}
	if _, err := b.d.Token(); err != nil {
		return bad("bad JSON")
	}
	if _, err := b.d.Token(); !errors.Is(err, io.EOF) {
		return bad("something follows the JSON object")
	}
	var tag string
	if json.Unmarshal(f.values[generation], &tag) == nil && tag != "" {
		f.listed = listed
	} else if ofState != "" {
		return f.shape.unknown(ofState)
	}
	return nil
}

// readForm reads a form, whose fields may not come twice.
func (f *fields) readForm(b *body) error {
	text, err := io.ReadAll(b)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return malformed(0, "bad form: %v; in a form, write a percent sign as %%25", err)
	}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		given := form[name]
		switch {
		case !utf8.ValidString(name + given[0]):
			return malformed(0, "a field of the form is not UTF-8")
		case !slices.Contains(f.shape.fields, name):
			return f.shape.unknown(name)
		case len(given) > 1:
			return badField(wire.CodeBadField, name, "it is given twice")
		}
		f.values[name], _ = json.Marshal(given[0]) // a string has JSON
		if b, ok := parseBool(given[0]); ok && name == allowPending {
			f.values[name] = strconv.AppendBool(nil, b)
		}
	}
	return nil
}

// names are the names of groups and presets and the pending names that a State lists.
type names map[string]bool

// read reads a list of a State, and keeps what can be a name, folded.
func (n names) read(d *json.Decoder, field string) error {
	keep := slices.Contains([]string{"groups", "presets", "pending"}, field)
	token, err := d.Token()
	if _, compound := token.(json.Delim); err != nil || !compound && !keep {
		return err // a scalar is not read further
	}
	if token != json.Delim('[') {
		return errors.New("no array")
	}
	for d.More() {
		var name listedName
		if err := d.Decode(&name); err != nil {
			return err
		}
		if name := spec.Lower(string(name)); keep && len(n) < maxNames && spec.CheckName(name) == nil {
			n[name] = true
		}
	}
	_, err = d.Token()
	return err
}

// listedName is the name in an element of a list: a string, or the field name of an object.
type listedName string

func (n *listedName) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	var item struct{ Name string }
	err := json.Unmarshal(text, &item)
	*n = listedName(item.Name)
	return err
}

// dropListed removes the listed names from the unknown names in err, the error of a strict check.
// It returns nil if none is left. It changes err.
func dropListed(err error, listed map[string]bool) error {
	var unknown *spangate.ParseError
	if !errors.Is(err, spangate.ErrUnknownName) || !errors.As(err, &unknown) {
		return err
	}
	unknown.Unknown = slices.DeleteFunc(unknown.Unknown, func(u spangate.UnknownName) bool {
		_, known := spec.Lookup(listed, u.Name)
		return known
	})
	if len(unknown.Unknown) == 0 {
		return nil
	}
	return err
}

// parseTTL parses the field ttl.
func parseTTL(ttl string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(ttl))
	if err != nil {
		err = badField(wire.CodeBadField, "ttl", fmt.Sprintf("%q is no duration such as 5m or 1h30m", spec.Head(ttl)))
	}
	return d, err
}

// parseShare parses the field share, which may be left out.
func parseShare(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	portion, err := share.Parse(strings.TrimSpace(text))
	if err != nil {
		err = badField(wire.CodeBadField, "share", err.Error())
	}
	return portion, err
}

// unknown refuses a field that the route does not take, and says where it belongs or
// which one may have been meant.
func (s *shape) unknown(field string) error {
	hint, homes, candidates := "", []string(nil), slices.Clone(s.fields) // the nearest is the first of several
	for _, r := range shapes {
		candidates = append(candidates, r.fields...)
		if slices.Contains(r.fields, field) {
			homes = append(homes, r.route)
		}
	}
	switch nearest := spec.Nearest(field, candidates); {
	case strings.HasPrefix(strings.TrimSpace(field), "{"):
		hint = "; the body looks like JSON: send the header Content-Type: " + typeJSON
	case homes != nil:
		hint = "; it belongs to " + strings.Join(homes, " and ")
	case slices.Contains(ttlMistakes, field):
		hint = "; the time after which a lease ends is the field ttl of " + postShape.route + ", and a baseline has none"
	case slices.Contains(stateFields, field):
		hint = "; it is only read in a whole State, as GET gives it, with its " + generation + ", sent back as JSON to " + putShape.route
	case slices.Contains(s.fields, nearest):
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	case nearest != "":
		hint = fmt.Sprintf("; did you mean %q? It belongs to another route", nearest)
	}
	return badField(wire.CodeBadField, field, "unknown here"+hint+"; there are "+strings.Join(s.fields, ", "))
}

func unsupported(what, value string) error {
	return &badRequest{status: http.StatusUnsupportedMediaType, body: wire.Error{Code: wire.CodeMediaType, Accept: []string{typeJSON, typeForm},
		Message: fmt.Sprintf("%s %q is not read here; send %s or %s", what, spec.Head(value), typeJSON, typeForm)}}
}

func tooLarge(what string, limit int) error {
	return &badRequest{status: http.StatusRequestEntityTooLarge, body: wire.Error{Code: wire.CodeTooLarge,
		Message: fmt.Sprintf("%s is longer than %d bytes", what, limit)}}
}

func malformed(offset int64, format string, args ...any) error {
	return &badRequest{status: http.StatusBadRequest, body: wire.Error{Code: wire.CodeMalformed, Offset: int(offset),
		Message: fmt.Sprintf(format, args...)}}
}

func badField(code, name, problem string) error {
	name = spec.Head(name)
	return &badRequest{status: http.StatusBadRequest, body: wire.Error{Code: code, Field: name,
		Message: fmt.Sprintf("field %q: %s", name, problem)}}
}
