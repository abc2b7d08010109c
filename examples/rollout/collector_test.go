// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	protobuf = "application/x-protobuf"
	jsonType = "application/json"
)

// export returns an export of one span of a rollout, with a parent.
func export() ptraceotlp.ExportRequest {
	traces := ptrace.NewTraces()
	resource := traces.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("nemo.gym.server.name", "agent")
	s := resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{2})
	s.SetParentSpanID([8]byte{3})
	s.SetName("HTTP POST")
	s.SetKind(ptrace.SpanKindClient)
	s.SetStartTimestamp(1e9)
	s.SetEndTimestamp(3e9)
	s.Attributes().PutStr("nemo.gym.rollout.id", "01")
	return ptraceotlp.NewExportRequestFromTraces(traces)
}

func gzipped(t *testing.T, body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func post(t *testing.T, url, contentType, contentEncoding string, body []byte) (*http.Response, []byte) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Content-Encoding", contentEncoding)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, text
}

func TestCollectorReadsBothEncodingsGzippedOrNot(t *testing.T) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	inProtobuf, err := export().MarshalProto()
	require.NoError(t, err)
	inJSON, err := export().MarshalJSON()
	require.NoError(t, err)
	for _, test := range []struct {
		contentType, contentEncoding, response string
		body                                   []byte
	}{
		{protobuf, "", protobuf, inProtobuf},
		{protobuf, "gzip", protobuf, gzipped(t, inProtobuf)},
		{jsonType, "", jsonType, inJSON},
		{jsonType, "gzip", jsonType, gzipped(t, inJSON)},
		{"Application/JSON; charset=utf-8", "identity", jsonType, inJSON},
		{protobuf, "", protobuf, nil}, // an empty export
	} {
		response, text := post(t, c.url, test.contentType, test.contentEncoding, test.body)
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, test.response, response.Header.Get("Content-Type"))
		answer := ptraceotlp.NewExportResponse()
		if test.response == protobuf {
			assert.NoError(t, answer.UnmarshalProto(text))
		} else {
			assert.NoError(t, answer.UnmarshalJSON(text))
		}
		spans, _ := c.take()
		if test.body == nil {
			assert.Empty(t, spans)
			continue
		}
		assert.Equal(t, []Span{{
			ID:      spanID{[16]byte{1}, [8]byte{2}},
			Parent:  spanID{[16]byte{1}, [8]byte{3}},
			Name:    "HTTP POST",
			Group:   "http_client",
			Process: "agent",
			Rollout: "01",
			Start:   time.Unix(1, 0).UTC(),
			Took:    2 * time.Second,
		}}, spans)
	}
}

func TestCollectorRefusesWithAStatusInTheEncodingOfTheRequest(t *testing.T) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	long := make([]byte, maxExport+1)
	for _, test := range []struct {
		name, contentType, contentEncoding string
		body                               []byte
		code                               int
	}{
		{"not protobuf", protobuf, "", []byte("{}"), http.StatusBadRequest},
		{"not JSON", jsonType, "", []byte("spans"), http.StatusBadRequest},
		{"not gzip", protobuf, "gzip", []byte("spans"), http.StatusBadRequest},
		{"truncated gzip", protobuf, "gzip", gzipped(t, []byte("spans"))[:20], http.StatusBadRequest},
		{"another compression", protobuf, "zstd", nil, http.StatusUnsupportedMediaType},
		{"too long", protobuf, "", long, http.StatusRequestEntityTooLarge},
		{"too long when unpacked", protobuf, "gzip", gzipped(t, long), http.StatusRequestEntityTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, text := post(t, c.url, test.contentType, test.contentEncoding, test.body)
			assert.Equal(t, test.code, response.StatusCode)
			assert.Equal(t, test.contentType, response.Header.Get("Content-Type"))
			var refusal status.Status
			if test.contentType == protobuf {
				require.NoError(t, proto.Unmarshal(text, &refusal))
			} else {
				require.NoError(t, protojson.Unmarshal(text, &refusal))
			}
			assert.NotEmpty(t, refusal.GetMessage())
			spans, _ := c.take()
			assert.Empty(t, spans)
		})
	}
}

func TestCollectorHasOnePathOneMethodAndTwoContentTypes(t *testing.T) {
	c, err := startCollector("127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	response, _ := post(t, c.url, "text/plain", "", nil)
	assert.Equal(t, http.StatusUnsupportedMediaType, response.StatusCode)
	response, _ = post(t, c.url+"/more", protobuf, "", nil)
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err = client.Get(c.url)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}
