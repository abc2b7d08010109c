// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The other requirements of go.mod are built only by programs that import the packages that need
// them.
func TestProgramThatImportsTheEngineBuildsTwoModules(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	sums, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/engine\n\ngo 1.25.0\n\nrequire github.com/spangate/spangate v0.0.0\n\n" +
			"replace github.com/spangate/spangate => " + root + "\n",
		"go.sum":  string(sums),
		"main.go": "package main\n\nimport \"github.com/spangate/spangate\"\n\nfunc main() { println(spangate.MustParse(\"default\")) }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	packages, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	assert.ElementsMatch(t, []string{
		"example.com/engine",
		"github.com/spangate/spangate",
		"github.com/spangate/spangate/internal/spec",
		"golang.org/x/sys/cpu",
	}, strings.Fields(string(packages)))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	assert.NotContains(t, string(mod), "opentelemetry")
}
