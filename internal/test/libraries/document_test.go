// SPDX-License-Identifier: Apache-2.0

//go:build !race

package libraries

import (
	"bytes"
	_ "embed"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/libraries-tested.md")

//go:embed libraries-tested.md.tmpl
var page string

// docs/libraries-tested.md has the libraries and versions that this test is built with.
func TestDocument(t *testing.T) {
	const path = "../../../docs/libraries-tested.md"
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}"}
	for _, l := range libraries {
		args = append(args, l.modules...)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	require.NoError(t, err)
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")

	type row struct{ Name, Modules, Scope, Run, Groups string }
	var rows []row
	for _, l := range libraries {
		n := len(l.modules)
		rows = append(rows, row{
			l.name, strings.Join(modules[:n], "<br>"), l.rules[0].Scope, l.run,
			strings.ReplaceAll(catalog.Format(l.groups), ",", ", "),
		})
		modules = modules[n:]
	}
	var want bytes.Buffer
	require.NoError(t, template.Must(template.New("page").Parse(page)).Execute(&want, rows))
	if *update {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got), "stale; run go test ./internal/test/libraries -run TestDocument -update")
}
