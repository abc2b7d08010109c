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

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// tracesPath is where OTLP/HTTP has spans posted.
const tracesPath = "/v1/traces"

// maxExport is the length of the longest export that is read, compressed or not.
const maxExport = 16 << 20

// collector is an OTLP/HTTP receiver that keeps the spans it is sent, in protobuf or JSON,
// compressed or not.
type collector struct {
	server *http.Server
	url    string

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
	mux.Handle("POST "+tracesPath, c)
	c.server = &http.Server{Handler: mux, ReadTimeout: callTimeout}
	go c.server.Serve(listener)
	return c, nil
}

func (c *collector) stop() error { return c.server.Close() }

// take returns the spans received since it was last called.
func (c *collector) take() []Span {
	spans, _ := c.takeAll()
	return spans
}

// takeAll returns as well how long the exports were that brought them, uncompressed.
func (c *collector) takeAll() (spans []Span, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans, bytes = c.spans, c.bytes
	c.spans, c.bytes = nil, 0
	return spans, bytes
}

// encoding is one of OTLP/HTTP's two. An answer has that of its request.
type encoding struct {
	decode  func(ptraceotlp.ExportRequest, []byte) error
	encode  func(ptraceotlp.ExportResponse) ([]byte, error)
	refusal func(proto.Message) ([]byte, error)
}

var encodings = map[string]encoding{
	"application/x-protobuf": {ptraceotlp.ExportRequest.UnmarshalProto, ptraceotlp.ExportResponse.MarshalProto, proto.Marshal},
	"application/json":       {ptraceotlp.ExportRequest.UnmarshalJSON, ptraceotlp.ExportResponse.MarshalJSON, protojson.Marshal},
}

// ServeHTTP takes one export. The spans are kept before it is answered.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	enc, ok := encodings[contentType]
	if !ok {
		http.Error(w, fmt.Sprintf("content type %q is neither application/x-protobuf nor application/json", contentType), http.StatusUnsupportedMediaType)
		return
	}
	w.Header().Set("Content-Type", contentType)

	body, err := readExport(w, r)
	request := ptraceotlp.NewExportRequest()
	if err == nil {
		err = enc.decode(request, body)
	}
	if err != nil {
		refuse(w, enc, err)
		return
	}
	c.keep(request.Traces(), len(body))
	if text, err := enc.encode(ptraceotlp.NewExportResponse()); err == nil {
		w.Write(text)
	}
}

var errCompression = errors.New("the content encoding is not gzip")

func readExport(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body := http.MaxBytesReader(w, r.Body, maxExport)
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = http.MaxBytesReader(w, unzipped, maxExport)
	default:
		return nil, errCompression
	}
	return io.ReadAll(body)
}

// refuse answers as OTLP/HTTP asks for: with a google.rpc.Status.
func refuse(w http.ResponseWriter, enc encoding, err error) {
	httpStatus, rpcCode := http.StatusBadRequest, code.Code_INVALID_ARGUMENT
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		httpStatus, rpcCode = http.StatusRequestEntityTooLarge, code.Code_RESOURCE_EXHAUSTED
	} else if errors.Is(err, errCompression) {
		httpStatus, rpcCode = http.StatusUnsupportedMediaType, code.Code_UNIMPLEMENTED
	}
	text, _ := enc.refusal(&status.Status{Code: int32(rpcCode), Message: err.Error()})
	w.WriteHeader(httpStatus)
	w.Write(text)
}

func (c *collector) keep(traces ptrace.Traces, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes
	for _, ofResource := range traces.ResourceSpans().All() {
		for _, ofScope := range ofResource.ScopeSpans().All() {
			for _, s := range ofScope.Spans().All() {
				c.spans = append(c.spans, newSpan(ofResource.Resource(), s))
			}
		}
	}
}
