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
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

const (
	// maxBody is the length in bytes of the longest body that is read, without the lists
	// of a State.
	maxBody = 64 << 10
	// maxState is the length in bytes of the longest body with such lists: several times that
	// of a state with 10,000 leases on all of 15 groups. One that is made to be slow takes some
	// seconds to read.
	maxState = 32 << 20
	// maxAhead is how many bytes of a body may be in memory at once: a group of a State,
	// which names the leases that add it, is the longest value that has to be.
	maxAhead = 4 << 20
	// maxListed is how many bytes of the names that a State lists are kept.
	maxListed = 1 << 20
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

const (
	routeBaseline = "PUT /"
	routeLease    = "POST /leases"
	routePatch    = "PATCH /leases/{id}"
)

// route is a route with a body, and the fields that it takes.
type route struct {
	name   string
	fields []string
}

var routes = []route{
	{routeBaseline, fieldsOf[wire.Baseline]()},
	{routeLease, fieldsOf[wire.LeaseRequest]()},
	{routePatch, fieldsOf[wire.LeasePatch]()},
}

// stateFields are the fields of a State, and generation is the one that tells it from a
// Baseline.
var stateFields = fieldsOf[wire.State]()

const generation = "generation"

// times are names that a client may use for the field ttl by mistake.
var times = []string{"expires", "expiry", "end", "until", "for", "duration", "timeout"}

// fieldsOf returns the names of the JSON fields of a struct.
func fieldsOf[T any]() (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// badRequest is a request that is refused before anything is changed, as it is answered.
type badRequest struct {
	status    int
	body      wire.Error
	challenge string // the header WWW-Authenticate, or empty
}

func (e *badRequest) Error() string { return e.body.Message }

// fields are the fields of a request, whether they came as JSON or as a form.
//
// The accessors return the zero value for a bad field; err keeps the first error.
type fields struct {
	route     string
	query     url.Values
	values    map[string]json.RawMessage
	listed    map[string]bool // the names that a whole State lists; nil if the body is none
	listedLen int
	err       error
}

// decode reads the body of r, and refuses fields that the route does not take.
func decode(r *http.Request, route string) (*fields, error) {
	// Not mime.ParseMediaType, which refuses parameters that don't matter here.
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	if mediaType != typeJSON && mediaType != typeForm {
		return nil, unsupported(fmt.Sprintf("content type %q", spec.Head(mediaType)))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, unsupported(fmt.Sprintf("content encoding %q", spec.Head(coding)))
	}
	in := &fields{route: route, query: r.URL.Query(), values: make(map[string]json.RawMessage)}
	b := &body{r: http.NoBody, limit: maxBody}
	if r.Body != nil {
		b.r = r.Body
	}
	parse := in.parseForm
	if mediaType == typeJSON {
		parse = in.parseJSON
	}
	if err := parse(b); err != nil {
		return nil, cmp.Or(b.err, err)
	}
	return in, nil
}

// body reads a body and fails beyond its limit. parseJSON raises the limit by the length of the
// lists of a State, which are not kept.
type body struct {
	r           io.Reader
	limit, read int64
	consumed    func() int64 // how many of the bytes read the decoder has passed
	err         error        // the error that ended the reading, as it is answered
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(int64(len(p)), max(1, b.limit+1-b.read))])
	b.read += int64(n)
	switch {
	case b.read > b.limit && b.limit == maxState:
		err = tooLarge("the body is longer than %d bytes", maxState)
	case b.read > b.limit:
		err = tooLarge("the body is longer than %d bytes", maxBody)
	case b.consumed != nil && b.read-b.consumed() > maxAhead:
		err = tooLarge("a value in the body is longer than %d bytes", maxAhead)
	case err != nil && !errors.Is(err, io.EOF):
		err = malformed(int(b.read), "the body breaks off: %v", err)
	default:
		return n, err
	}
	b.err = cmp.Or(b.err, err)
	return 0, b.err
}

// parseJSON reads an object and nothing after it. The names of its fields are case-sensitive,
// and a field may not come twice. Of the fields that only a State has, parseJSON keeps no more
// than the names of groups and presets and the pending names.
func (f *fields) parseJSON(b *body) error {
	d := json.NewDecoder(b)
	b.consumed = d.InputOffset
	bad := func(what string) error {
		return malformed(int(d.InputOffset()), "%s at byte %d of the body", what, d.InputOffset())
	}
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return bad("no JSON object")
	}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return bad("bad JSON")
		}
		if f.values[name] != nil {
			return badField(wire.CodeBadField, name, "it is given twice")
		}
		value := json.RawMessage("null")
		switch {
		case takes(f.route, name) || f.route == routeBaseline && name == generation:
			err = d.Decode(&value)
		case f.route == routeBaseline && slices.Contains(stateFields, name):
			limit, start := b.limit, d.InputOffset()
			b.limit = maxState
			err = f.list(d, name)
			b.limit = limit + d.InputOffset() - start
		default:
			return unknownField(f.route, name)
		}
		if err != nil {
			return bad("bad JSON")
		}
		if !utf8.Valid(value) {
			return malformed(int(d.InputOffset()), "field %q is not UTF-8", name)
		}
		f.values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return bad("bad JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("something follows the JSON object")
	}
	if f.text(generation) != "" {
		return nil
	}
	f.listed = nil
	for _, name := range stateFields {
		if f.values[name] != nil && !takes(f.route, name) {
			return unknownField(f.route, name)
		}
	}
	return nil
}

// list reads the value of a field that only a State has.
func (f *fields) list(d *json.Decoder, field string) error {
	switch field {
	case "groups", "presets":
		return each(d, func() error {
			var item struct{ Name string }
			err := d.Decode(&item)
			f.keep(item.Name)
			return err
		})
	case "pending":
		return each(d, func() error {
			var name string
			err := d.Decode(&name)
			f.keep(name)
			return err
		})
	}
	return skip(d)
}

// keep keeps a name that a State lists, if it can be one.
func (f *fields) keep(name string) {
	if len(name) > spec.MaxNameLen || f.listedLen+len(name) > maxListed {
		return
	}
	if f.listed == nil {
		f.listed = make(map[string]bool)
	}
	f.listed[name] = true
	f.listedLen += len(name) + 1
}

// allowing returns err, the error of a strict reading of a spec, without the unknown names that
// are listed; nil if no other is left. It changes err.
func allowing(err error, listed map[string]bool) error {
	var unknown *spangate.ParseError
	if len(listed) == 0 || !errors.Is(err, spangate.ErrUnknownName) || !errors.As(err, &unknown) {
		return err
	}
	unknown.Unknown = slices.DeleteFunc(unknown.Unknown, func(u spangate.UnknownName) bool {
		var buf [spec.MaxNameLen]byte
		folded, ok := spec.Fold(&buf, u.Name)
		return ok && listed[string(folded)]
	})
	if len(unknown.Unknown) == 0 {
		return nil
	}
	return err
}

// each reads an array. It calls fn for each element, which fn must read.
func each(d *json.Decoder, fn func() error) error {
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return cmp.Or(err, errors.New("no array"))
	}
	for d.More() {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// skip reads the value that comes next, in memory that does not depend on its size.
func skip(d *json.Decoder) error {
	const maxDepth = 16
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			if depth++; depth > maxDepth {
				return errors.New("nested too deeply")
			}
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// parseForm reads a form, whose fields may not come twice.
func (f *fields) parseForm(b *body) error {
	text, err := io.ReadAll(b)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return malformed(0, "the body is not UTF-8")
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return malformed(0, "bad form: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		given := form[name]
		switch {
		case !utf8.ValidString(name + given[0]):
			return malformed(0, "a field of the form is not UTF-8")
		case !takes(f.route, name):
			return unknownField(f.route, name)
		case len(given) > 1:
			return badField(wire.CodeBadField, name, "it is given twice")
		}
		f.values[name], _ = json.Marshal(given[0]) // a string has JSON
	}
	return nil
}

// done returns the first error of the fields. The query is not read, so a field in it is an
// error: it would have no effect.
func (f *fields) done() error {
	if f.err != nil {
		return f.err
	}
	for _, name := range slices.Sorted(maps.Keys(f.query)) {
		if slices.Contains(times, name) || slices.ContainsFunc(routes, func(r route) bool { return slices.Contains(r.fields, name) }) {
			return badField(wire.CodeBadField, name, "it is in the query; fields belong in the body")
		}
	}
	return nil
}

// has reports whether the field is present and not null.
func (f *fields) has(name string) bool {
	value, ok := f.values[name]
	return ok && string(value) != "null"
}

// required returns the text of a field that must be present; it may be empty.
func (f *fields) required(name string) string {
	if !f.has(name) {
		f.fail(badField(wire.CodeMissingField, name, "it is missing"))
		return ""
	}
	return f.text(name)
}

// text returns the text of a field that may be left out.
func (f *fields) text(name string) (s string) {
	if value, ok := f.values[name]; ok && json.Unmarshal(value, &s) != nil {
		f.fail(badField(wire.CodeBadField, name, "must be a string"))
	}
	return s
}

// truth returns a field that is true or false, or as a form has it "true" or "false"; false
// if it is left out.
func (f *fields) truth(name string) (b bool) {
	value, ok := f.values[name]
	if !ok || json.Unmarshal(value, &b) == nil {
		return b
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		if b, ok := truth(s); ok {
			return b
		}
	}
	f.fail(badField(wire.CodeBadField, name, "must be true or false"))
	return false
}

// duration returns a field that must be present and is a duration.
func (f *fields) duration(name string) time.Duration {
	s := f.required(name)
	if f.err != nil {
		return 0
	}
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		f.fail(badField(wire.CodeBadField, name, fmt.Sprintf("%q is no duration such as 5m or 1h30m", spec.Head(s))))
	}
	return d
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// takes reports whether the route takes the field.
func takes(name, field string) bool {
	i := slices.IndexFunc(routes, func(r route) bool { return r.name == name })
	return slices.Contains(routes[i].fields, field)
}

// isField reports whether a route takes the field.
func isField(name string) bool {
	return slices.ContainsFunc(routes, func(r route) bool { return slices.Contains(r.fields, name) })
}

// unknownField refuses a field that the route does not take, and says where it belongs or
// which one may have been meant.
func unknownField(name, field string) error {
	var here, elsewhere, homes []string
	for _, r := range routes {
		if r.name == name {
			here = r.fields
			continue
		}
		elsewhere = append(elsewhere, r.fields...)
		if slices.Contains(r.fields, field) {
			homes = append(homes, r.name)
		}
	}
	what := "unknown here"
	nearest := spec.Nearest(field, slices.Concat(here, elsewhere))
	switch {
	case strings.HasPrefix(strings.TrimSpace(field), "{"):
		what += "; the body looks like JSON: send the header Content-Type: " + typeJSON
	case homes != nil:
		what += "; it belongs to " + strings.Join(homes, " and ")
	case slices.Contains(times, field):
		what += "; the time after which a lease ends is the field ttl of " + routeLease + ", and a baseline has none"
	case slices.Contains(stateFields, field):
		what += "; it is only read in a whole State, as GET gives it, with its " + generation + ", sent back as JSON to " + routeBaseline
	case slices.Contains(here, nearest):
		what += fmt.Sprintf("; did you mean %q?", nearest)
	case nearest != "":
		what += fmt.Sprintf("; did you mean %q? It belongs to another route", nearest)
	}
	return badField(wire.CodeBadField, field, what+"; there are "+strings.Join(here, ", "))
}

func unsupported(what string) error {
	return &badRequest{status: http.StatusUnsupportedMediaType, body: wire.Error{
		Code: wire.CodeMediaType, Accept: []string{typeJSON, typeForm},
		Message: what + " is not read here; send " + typeJSON + " or " + typeForm}}
}

func tooLarge(format string, args ...any) error {
	return &badRequest{status: http.StatusRequestEntityTooLarge, body: wire.Error{
		Code: wire.CodeTooLarge, Message: fmt.Sprintf(format, args...)}}
}

func malformed(offset int, format string, args ...any) error {
	return &badRequest{status: http.StatusBadRequest, body: wire.Error{
		Code: wire.CodeMalformed, Offset: offset, Message: fmt.Sprintf(format, args...)}}
}

func badField(code, name, what string) error {
	return &badRequest{status: http.StatusBadRequest, body: wire.Error{
		Code: code, Field: spec.Head(name), Message: fmt.Sprintf("field %q: %s", spec.Head(name), what)}}
}
