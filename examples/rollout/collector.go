// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	tracesPath = "/v1/traces" // where OTLP/HTTP posts spans
	maxExport  = 16 << 20     // bytes of the longest export that is read, both compressed and not
)

// collector is an OTLP/HTTP receiver that keeps the spans it receives, in either encoding,
// gzipped or not.
type collector struct {
	http.Server
	url string

	mu    sync.Mutex
	spans []Span
	bytes int
}

func startCollector(address string) (*collector, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &collector{url: "http://" + listener.Addr().String() + tracesPath}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+tracesPath, c.export)
	c.Handler, c.ReadTimeout = mux, callTimeout
	go c.Serve(listener)
	return c, nil
}

// take returns and forgets the spans received so far, and the uncompressed length of their
// exports.
func (c *collector) take() (spans []Span, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans, bytes = c.spans, c.bytes
	c.spans, c.bytes = nil, 0
	return spans, bytes
}

// encodings are those of OTLP/HTTP. A response has the encoding of its request.
var encodings = map[string]struct {
	decode func(ptraceotlp.ExportRequest, []byte) error
	encode func(ptraceotlp.ExportResponse) ([]byte, error)
	refuse func(proto.Message) ([]byte, error)
}{
	"application/x-protobuf": {ptraceotlp.ExportRequest.UnmarshalProto, ptraceotlp.ExportResponse.MarshalProto, proto.Marshal},
	"application/json":       {ptraceotlp.ExportRequest.UnmarshalJSON, ptraceotlp.ExportResponse.MarshalJSON, protojson.Marshal},
}

// export keeps the spans of one export, or refuses it with a google.rpc.Status.
func (c *collector) export(w http.ResponseWriter, r *http.Request) {
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	encoding, ok := encodings[contentType]
	if !ok {
		http.Error(w, fmt.Sprintf("content type %q is neither application/x-protobuf nor application/json", contentType), http.StatusUnsupportedMediaType)
		return
	}
	w.Header().Set("Content-Type", contentType)
	request := ptraceotlp.NewExportRequest()
	body, err := readExport(w, r)
	if err == nil {
		err = encoding.decode(request, body)
	}
	if err != nil {
		code := http.StatusBadRequest
		if errors.Is(err, errCompression) {
			code = http.StatusUnsupportedMediaType
		} else if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
			code = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(code)
		text, _ := encoding.refuse(&status.Status{Message: err.Error()})
		w.Write(text)
		return
	}

	c.mu.Lock()
	c.bytes += len(body)
	for _, resource := range request.Traces().ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, s := range scope.Spans().All() {
				c.spans = append(c.spans, newSpan(resource.Resource(), s))
			}
		}
	}
	c.mu.Unlock()
	text, _ := encoding.encode(ptraceotlp.NewExportResponse())
	w.Write(text)
}

var errCompression = errors.New("the content encoding is not gzip")

// readExport returns the body of an export, uncompressed.
func readExport(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body := http.MaxBytesReader(w, r.Body, maxExport)
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		return io.ReadAll(body)
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(http.MaxBytesReader(w, unzipped, maxExport))
	default:
		return nil, errCompression
	}
}
