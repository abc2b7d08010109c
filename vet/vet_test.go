// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/spangate/spangate/vet"
)

var update = flag.Bool("update", false, "write testdata/fixes.diff")

// Each rule reports, in the packages of its folder, what the comments `want` say, and nothing else.
func TestRules(t *testing.T) {
	for _, a := range vet.Analyzers() {
		t.Run(a.Name, func(t *testing.T) {
			if a == vet.Ungated {
				require.NoError(t, a.Flags.Set("enable", "true"))
				defer a.Flags.Set("enable", "false")
			}
			analysistest.Run(t, analysistest.TestData(), a, "./"+a.Name+"/...")
		})
	}
}

// go fix makes the edits of testdata/fixes.diff (written with -update). What is fixed compiles, and has
// nothing left to fix.
func TestFixesCompileAndLeaveNothingToFix(t *testing.T) {
	tool, dir := build(t), module(t)
	diff := command(t, dir, 1, "go", "fix", "-diff", "-fixtool="+tool, "./...")
	diff = regexp.MustCompile(`(?m)^(---|\+\+\+) .*/(\w+/\w+\.go)`).ReplaceAllString(diff, "$1 $2")
	diff = regexp.MustCompile(`(?m)^@@.*`).ReplaceAllString(diff, "@@")
	files := strings.Split("\n"+strings.TrimSuffix(diff, "\n"), "\n--- ") // in the order in which go fix finishes them
	slices.Sort(files)
	diff = strings.TrimPrefix(strings.Join(files, "\n--- "), "\n") + "\n"
	const golden = "testdata/fixes.diff"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(diff), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), diff)

	command(t, dir, 0, "go", "fix", "-fixtool="+tool, "./...")
	command(t, dir, 0, "go", "build", "./...")
	require.Empty(t, command(t, dir, 0, "go", "fix", "-diff", "-fixtool="+tool, "./..."))
}

// By itself the command reports what it does under go vet, facts of other packages included.
func TestCommandIsGoVet(t *testing.T) {
	tool, dir := build(t), module(t)
	alone := command(t, dir, 1, tool, "./transparent/...")
	require.Contains(t, alone, "package example.com/app/transparent/library ends spans")
	require.Equal(t, alone, command(t, dir, 1, "go", "vet", "-vettool="+tool, "./transparent/..."))
	require.Empty(t, command(t, dir, 0, tool, "./mydb"))
	require.Empty(t, command(t, dir, 0, tool, "./ungated"))
	require.Contains(t, command(t, dir, 1, tool, "-ungated.enable", "./ungated"), "whatever the gate says")
	require.Contains(t, command(t, dir, 0, tool, "help"), "lostspan")
	require.Empty(t, command(t, dir, 0, tool, "-fix", "./lostspan"))
	require.NotContains(t, command(t, dir, 1, tool, "./lostspan"), "declared again")
}

// build returns the path of the command.
func build(t *testing.T) string {
	tool := filepath.Join(t.TempDir(), "spangatevet")
	command(t, ".", 0, "go", "build", "-o", tool, "./cmd/spangatevet")
	return tool
}

// module returns a copy of testdata that may be changed.
func module(t *testing.T) string {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata")))
	path := filepath.Join(dir, "go.mod")
	mod, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(mod, []byte("=> ../.."), []byte("=> "+root), 1), 0o644))
	t.Setenv("GOWORK", "off")
	return dir
}

// command runs a program in dir, which must exit with code, and returns its output.
func command(t *testing.T, dir string, code int, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

// Each rule has a page that says why, shows code that is wrong and code that is right, and how to suppress
// a finding.
func TestPages(t *testing.T) {
	for _, a := range vet.Analyzers() {
		page, err := os.ReadFile("docs/" + a.Name + ".md")
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(a.URL, "/docs/"+a.Name+".md"))
		for _, part := range []string{"# " + a.Name + "\n", "## Bad", "## Good", "## Suppress", "//spangate:ignore " + a.Name + " "} {
			if a != vet.Suppression || !strings.Contains(part, "uppress") && !strings.Contains(part, "ignore") {
				require.Contains(t, string(page), part, a.Name)
			}
		}
	}
}
