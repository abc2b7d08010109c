// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spangate/spangate/control/wire"
	"github.com/spangate/spangate/internal/spec"
)

// maxBody is the length in bytes of the longest body that is read.
const maxBody = 64 << 10

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

// badRequest is a request that is refused for its form.
type badRequest struct {
	status int
	body   wire.Error
}

func (e *badRequest) Error() string { return e.body.Message }

// fields are the fields of a request, whether they came as JSON or as a form.
//
// What asks for a field returns something of no meaning if the field is amiss, and the first
// such error stays in err.
type fields struct {
	values map[string]json.RawMessage
	err    error
}

// decode reads the body of r. If known are given, it refuses fields that are not among them;
// a body without such a rule may hold anything besides.
func decode(w http.ResponseWriter, r *http.Request, known ...string) (*fields, error) {
	// Not mime.ParseMediaType, which refuses parameters that don't matter here.
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	var parse func([]byte) (map[string]json.RawMessage, error)
	switch mediaType {
	case typeJSON:
		parse = parseJSON
	case typeForm:
		parse = parseForm
	default:
		return nil, unsupported(fmt.Sprintf("content type %q", spec.Head(mediaType)))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, unsupported(fmt.Sprintf("content encoding %q", spec.Head(coding)))
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, &badRequest{http.StatusRequestEntityTooLarge, wire.Error{
			Code: wire.CodeTooLarge, Message: fmt.Sprintf("the body is longer than %d bytes", maxBody)}}
	case err != nil:
		return nil, malformed(len(body), "the body breaks off: %v", err)
	case !utf8.Valid(body):
		return nil, malformed(0, "the body is not UTF-8")
	}
	values, err := parse(body)
	if err != nil {
		return nil, err
	}
	for name := range values {
		if known != nil && !slices.Contains(known, name) {
			return nil, badField(wire.CodeBadField, name, "unknown here; there are "+strings.Join(known, ", "))
		}
	}
	return &fields{values: values}, nil
}

// parseJSON reads an object, whose fields are told apart by case and may not come twice, and
// nothing after it.
func parseJSON(body []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	fail := func(what string) (map[string]json.RawMessage, error) {
		return nil, malformed(int(d.InputOffset()), "%s at byte %d of the body", what, d.InputOffset())
	}
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return fail("no JSON object")
	}
	values := make(map[string]json.RawMessage)
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return fail("bad JSON")
		}
		if _, twice := values[name]; twice {
			return nil, badField(wire.CodeBadField, name, "it is given twice")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fail("bad JSON")
		}
		values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return fail("bad JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fail("something follows the JSON object")
	}
	return values, nil
}

// parseForm reads a form, whose fields may not come twice.
func parseForm(body []byte) (map[string]json.RawMessage, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, malformed(0, "bad form: %v", err)
	}
	values := make(map[string]json.RawMessage)
	for name, given := range form {
		if len(given) > 1 {
			return nil, badField(wire.CodeBadField, name, "it is given twice")
		}
		if !utf8.ValidString(name + given[0]) {
			return nil, malformed(0, "a field of the form is not UTF-8")
		}
		values[name], _ = json.Marshal(given[0]) // a string has JSON
	}
	return values, nil
}

// required returns the text of a field that must be present; it may be empty.
func (f *fields) required(name string) string {
	if value, ok := f.values[name]; !ok || string(value) == "null" {
		f.fail(badField(wire.CodeMissingField, name, "it is missing"))
		return ""
	}
	return f.text(name)
}

// text returns the text of a field that may be left out.
func (f *fields) text(name string) (s string) {
	if value, ok := f.values[name]; ok && json.Unmarshal(value, &s) != nil {
		f.fail(badField(wire.CodeBadField, name, "a string, please"))
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
	f.fail(badField(wire.CodeBadField, name, "true or false, please"))
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

func unsupported(what string) error {
	return &badRequest{http.StatusUnsupportedMediaType, wire.Error{
		Code: wire.CodeMediaType, Accept: []string{typeJSON, typeForm},
		Message: what + " is not read here; send " + typeJSON + " or " + typeForm}}
}

func malformed(offset int, format string, args ...any) error {
	return &badRequest{http.StatusBadRequest, wire.Error{
		Code: wire.CodeMalformed, Offset: offset, Message: fmt.Sprintf(format, args...)}}
}

func badField(code, name, what string) error {
	return &badRequest{http.StatusBadRequest, wire.Error{
		Code: code, Field: spec.Head(name), Message: fmt.Sprintf("field %q: %s", spec.Head(name), what)}}
}
