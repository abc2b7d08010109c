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
	"github.com/spangate/spangate/internal/spec"
)

const (
	// maxBody is the length in bytes of the longest body that is read, without the fields
	// that only a State has.
	maxBody = 64 << 10
	// maxState is the length in bytes of the longest body with such fields: several times that
	// of a state with 10,000 leases on all of 15 groups. A crafted one takes some seconds to
	// read.
	maxState = 32 << 20
	// maxValue bounds the memory for one value of a body. The longest is a group of a State,
	// which names the leases that add it.
	maxValue = 4 << 20
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

// route is a route with a body: the fields that it takes, and those of which one must be present.
type route struct {
	name     string
	fields   []string
	required [][]string
}

var routes = []route{
	{routeBaseline, fieldsOf[wire.Baseline](), [][]string{{"spec"}}},
	{routeLease, fieldsOf[wire.LeaseRequest](), [][]string{{"ttl"}, {"spec", "quiet"}}},
	{routePatch, fieldsOf[wire.LeasePatch](), [][]string{{"ttl"}}},
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

// isField reports whether a route takes the field.
func isField(name string) bool {
	return slices.ContainsFunc(routes, func(r route) bool { return slices.Contains(r.fields, name) })
}

// badRequest is a request that is refused before anything is changed, with its answer.
type badRequest struct {
	status    int
	body      wire.Error
	challenge string // the header WWW-Authenticate, or empty
}

func (e *badRequest) Error() string { return e.body.Message }

// decode reads the body of a request for the route into a T, whose fields are those of the route.
// If the body is a whole State, listed has the names that it lists.
func decode[T any](r *http.Request, name string) (in T, listed map[string]bool, err error) {
	to := &routes[slices.IndexFunc(routes, func(r route) bool { return r.name == name })]
	values, listed, err := to.read(r)
	if err != nil {
		return in, nil, err
	}
	const pending = "allow_pending" // the only boolean, which a form has as text
	var text string
	if json.Unmarshal(values[pending], &text) == nil {
		if b, ok := truth(text); ok {
			values[pending] = strconv.AppendBool(nil, b)
		}
	}
	object, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(object, &in)
	}
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
		must := "must be a string"
		if e.Type.Kind() == reflect.Bool {
			must = "must be true or false"
		}
		err = badField(wire.CodeBadField, e.Field, must)
	}
	for _, any := range to.required {
		if err == nil && !slices.ContainsFunc(any, func(field string) bool { return present(values[field]) }) {
			err = badField(wire.CodeMissingField, any[0], "it is missing")
		}
	}
	for _, field := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if err == nil && (isField(field) || slices.Contains(times, field)) {
			err = badField(wire.CodeBadField, field, "it is in the query; fields belong in the body")
		}
	}
	return in, listed, err
}

// present reports whether a field is there and not null.
func present(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// read returns the fields of the body, of which none is one that the route does not take.
func (to *route) read(r *http.Request) (values map[string]json.RawMessage, listed map[string]bool, err error) {
	// Not mime.ParseMediaType, which refuses parameters that don't matter here.
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	coding := r.Header.Get("Content-Encoding")
	b := &body{r: cmp.Or[io.Reader](r.Body, http.NoBody), limit: maxBody}
	switch {
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return nil, nil, unsupported("content encoding", coding)
	case mediaType == typeJSON:
		b.d = json.NewDecoder(b)
		values, listed, err = to.readJSON(b)
	case mediaType == typeForm:
		values, err = to.readForm(b)
	default:
		return nil, nil, unsupported("content type", mediaType)
	}
	return values, listed, cmp.Or(b.err, err)
}

// body reads a body and fails beyond its limit, which readJSON raises by what it does not keep.
type body struct {
	r           io.Reader
	d           *json.Decoder // reads from the body; nil for a form
	limit, read int64
	err         error // the error that ended the reading
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(int64(len(p)), max(1, b.limit+1-b.read))])
	b.read += int64(n)
	switch {
	case b.read > b.limit:
		b.err = tooLarge("the body", b.limit)
	case b.d != nil && b.read-b.d.InputOffset() > maxValue:
		b.err = tooLarge("a value in the body", maxValue)
	case err != nil && !errors.Is(err, io.EOF):
		b.err = malformed(int(b.read), "the body breaks off: %v", err)
	default:
		return n, err
	}
	return 0, b.err
}

// readJSON reads one JSON object and nothing after it. The names of its fields are
// case-sensitive, and a field may not come twice. Fields that only a State has are read one
// element at a time, so that memory does not depend on their size.
func (to *route) readJSON(b *body) (values map[string]json.RawMessage, listed map[string]bool, err error) {
	bad := func(what string) (map[string]json.RawMessage, map[string]bool, error) {
		at := b.d.InputOffset()
		return nil, nil, malformed(int(at), "%s at byte %d of the body", what, at)
	}
	if token, err := b.d.Token(); err != nil || token != json.Delim('{') {
		return bad("no JSON object")
	}
	values, names := make(map[string]json.RawMessage), make(names)
	ofState := "" // a field that only a State has
	for b.d.More() {
		token, err := b.d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return bad("bad JSON")
		}
		if values[name] != nil {
			return nil, nil, badField(wire.CodeBadField, name, "it is given twice")
		}
		value := json.RawMessage("null")
		switch onlyState := to.name == routeBaseline && slices.Contains(stateFields, name); {
		case slices.Contains(to.fields, name), onlyState && name == generation:
			err = b.d.Decode(&value)
		case onlyState:
			ofState = name
			limit, start := b.limit, b.d.InputOffset()
			b.limit = maxState
			err = names.read(b.d, name)
			b.limit = limit + b.d.InputOffset() - start
		default:
			return nil, nil, to.unknownField(name)
		}
		if err != nil {
			return bad("bad JSON")
		}
		if !utf8.Valid(value) {
			return nil, nil, malformed(int(b.d.InputOffset()), "field %q is not UTF-8", name)
		}
		values[name] = value
	}
	if _, err := b.d.Token(); err != nil {
		return bad("bad JSON")
	}
	if _, err := b.d.Token(); !errors.Is(err, io.EOF) {
		return bad("something follows the JSON object")
	}
	var whole string
	if json.Unmarshal(values[generation], &whole); whole != "" {
		return values, names, nil
	}
	if values[generation] != nil {
		ofState = generation
	}
	if ofState != "" {
		return nil, nil, to.unknownField(ofState)
	}
	return values, nil, nil
}

// readForm reads a form, whose fields may not come twice.
func (to *route) readForm(b *body) (map[string]json.RawMessage, error) {
	text, err := io.ReadAll(b)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, malformed(0, "bad form: %v", err)
	}
	values := make(map[string]json.RawMessage)
	for _, name := range slices.Sorted(maps.Keys(form)) {
		given := form[name]
		switch {
		case !utf8.ValidString(name + given[0]):
			return nil, malformed(0, "a field of the form is not UTF-8")
		case !slices.Contains(to.fields, name):
			return nil, to.unknownField(name)
		case len(given) > 1:
			return nil, badField(wire.CodeBadField, name, "it is given twice")
		}
		values[name], _ = json.Marshal(given[0]) // a string has JSON
	}
	return values, nil
}

// names are the names of groups and presets and the pending names that a State lists.
type names map[string]bool

// read reads the value of a field that only a State has, and keeps its names.
func (n names) read(d *json.Decoder, field string) error {
	switch field {
	case "groups", "presets":
		return each(d, func(item struct{ Name string }) { n.add(item.Name) })
	case "pending":
		return each(d, n.add)
	}
	const maxDepth = 16
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth > maxDepth {
			return errors.New("nested too deeply")
		}
		if depth == 0 {
			return nil
		}
	}
}

// add keeps name if it can be a name and there is room.
func (n names) add(name string) {
	if len(name) <= spec.MaxNameLen && len(n)*spec.MaxNameLen < maxListed {
		n[name] = true
	}
}

// each reads an array and calls fn with each element.
func each[T any](d *json.Decoder, fn func(T)) error {
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return cmp.Or(err, errors.New("no array"))
	}
	for d.More() {
		var item T
		if err := d.Decode(&item); err != nil {
			return err
		}
		fn(item)
	}
	_, err := d.Token()
	return err
}

// allowing returns err, the error of a strict reading of a spec, without the unknown names that
// are listed; nil if no other is left. It changes err.
func allowing(err error, listed map[string]bool) error {
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

// duration reads the field ttl.
func duration(ttl string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(ttl))
	if err != nil {
		return 0, badField(wire.CodeBadField, "ttl", fmt.Sprintf("%q is no duration such as 5m or 1h30m", spec.Head(ttl)))
	}
	return d, nil
}

// unknownField refuses a field that the route does not take, and says where it belongs or
// which one may have been meant.
func (to *route) unknownField(field string) error {
	var elsewhere, homes []string
	for _, r := range routes {
		if r.name != to.name {
			elsewhere = append(elsewhere, r.fields...)
			if slices.Contains(r.fields, field) {
				homes = append(homes, r.name)
			}
		}
	}
	hint := ""
	nearest := spec.Nearest(field, slices.Concat(to.fields, elsewhere))
	switch {
	case strings.HasPrefix(strings.TrimSpace(field), "{"):
		hint = "; the body looks like JSON: send the header Content-Type: " + typeJSON
	case homes != nil:
		hint = "; it belongs to " + strings.Join(homes, " and ")
	case slices.Contains(times, field):
		hint = "; the time after which a lease ends is the field ttl of " + routeLease + ", and a baseline has none"
	case slices.Contains(stateFields, field):
		hint = "; it is only read in a whole State, as GET gives it, with its " + generation + ", sent back as JSON to " + routeBaseline
	case slices.Contains(to.fields, nearest):
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	case nearest != "":
		hint = fmt.Sprintf("; did you mean %q? It belongs to another route", nearest)
	}
	return badField(wire.CodeBadField, field, "unknown here"+hint+"; there are "+strings.Join(to.fields, ", "))
}

func unsupported(what, value string) error {
	return &badRequest{status: http.StatusUnsupportedMediaType, body: wire.Error{
		Code: wire.CodeMediaType, Accept: []string{typeJSON, typeForm},
		Message: fmt.Sprintf("%s %q is not read here; send %s or %s", what, spec.Head(value), typeJSON, typeForm)}}
}

func tooLarge(what string, limit int64) error {
	return &badRequest{status: http.StatusRequestEntityTooLarge, body: wire.Error{
		Code: wire.CodeTooLarge, Message: fmt.Sprintf("%s is longer than %d bytes", what, limit)}}
}

func malformed(offset int, format string, args ...any) error {
	return &badRequest{status: http.StatusBadRequest, body: wire.Error{
		Code: wire.CodeMalformed, Offset: offset, Message: fmt.Sprintf(format, args...)}}
}

func badField(code, name, what string) error {
	return &badRequest{status: http.StatusBadRequest, body: wire.Error{
		Code: code, Field: spec.Head(name), Message: fmt.Sprintf("field %q: %s", spec.Head(name), what)}}
}
