// SPDX-License-Identifier: Apache-2.0

// Package readme tests the complete program of the README.
package readme

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/XSAM/otelsql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp" // the program imports these four
	_ "go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	_ "modernc.org/sqlite"

	"github.com/spangate/spangate/control/client"
	"github.com/spangate/spangate/control/wire"
)

// start builds the program and runs it at address until the test ends. The channel receives the
// name of each span that it exports.
func start(t *testing.T, address string) <-chan string {
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block, "the README has a complete program")
	program := strings.Replace(string(block[1]), "localhost:8080", address, 1)
	require.Contains(t, program, address)

	source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "shop")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)

	cmd := exec.Command(binary)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt), "the program is still running")
		assert.NoError(t, cmd.Wait())
	})
	names := make(chan string)
	go func() {
		defer close(names)
		var span struct{ Name string }
		for d := json.NewDecoder(stdout); d.Decode(&span) == nil; {
			names <- span.Name
		}
	}()
	return names
}

// freeAddress returns an address where nothing listens. Its port is below those that systems give
// to listeners that ask for any, as other tests do meanwhile.
func freeAddress(t *testing.T) string {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		if l, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, l.Close())
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestCompleteProgramShowsItsLibrariesAndQuietsOne(t *testing.T) {
	address := freeAddress(t)
	names := start(t, address)
	request := func() {
		answer, err := http.Get("http://" + address + "/")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
	}
	expect := func(names <-chan string, expected ...string) {
		t.Helper()
		for _, name := range expected {
			require.Equal(t, name, <-names)
		}
	}
	c, err := client.New("http://"+address+"/spans", client.Token("secret"))
	require.NoError(t, err)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := c.State(context.Background())
		assert.NoError(t, err)
	}, time.Minute, 20*time.Millisecond)

	request()
	expect(names, "sql.conn.query", "sql.rows", "GET /")

	request()
	expect(names, "sql.conn.query", "sql.rows", "GET /")

	state, err := c.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"otelhttp", "otelsql"}, state.Enabled)
	started := map[string]string{}
	for _, g := range state.Groups {
		started[g.Name] = g.Spans.Started
	}
	require.Equal(t, map[string]string{"otelhttp": "2", "otelsql": "4"}, started)

	_, err = c.Lease(t.Context(), wire.LeaseRequest{Quiet: "otelsql", TTL: "10m", Owner: "ada"})
	require.NoError(t, err)
	request()
	expect(names, "GET /")

	_, err = c.Lease(t.Context(), wire.LeaseRequest{Quiet: "otelhttp", TTL: "10m", Owner: "ada"})
	require.NoError(t, err)
	request()
	select {
	case name := <-names:
		t.Errorf("%s was exported while everything is off", name)
	case <-time.After(2 * time.Second): // twice the batch timeout
	}
}
