// SPDX-License-Identifier: Apache-2.0

package rollouts

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spangate/spangate/bench/internal/module"
)

// Build is one way to build the example.
type Build int

// The builds.
const (
	Instrumented Build = iota
	CompiledOut        // with -tags spangate_off
	Bare               // without the code that instruments it
	builds
)

// Programs are the builds of the example. The caller has to close them.
type Programs struct {
	dir   string
	paths [builds]string
}

// NewPrograms builds the example in every way.
func NewPrograms(ctx context.Context) (*Programs, error) {
	bench, err := module.Dir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "spangate-rollouts-")
	if err != nil {
		return nil, err
	}
	p := &Programs{dir: dir}
	if err := p.build(ctx, filepath.Join(filepath.Dir(bench), "examples", "rollout")); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close removes what NewPrograms built.
func (p *Programs) Close() error { return os.RemoveAll(p.dir) }

func (p *Programs) build(ctx context.Context, source string) error {
	overlay, err := bare(ctx, source, filepath.Join(p.dir, "bare"))
	if err != nil {
		return err
	}
	for build, flags := range [builds][]string{
		CompiledOut: {"-tags=spangate_off"},
		Bare:        {"-overlay=" + overlay},
	} {
		p.paths[build] = filepath.Join(p.dir, fmt.Sprint("rollout", build))
		// Without DWARF, which valgrind reads for nothing, and of a version it may not know.
		args := append([]string{"build", "-C", source, "-ldflags=-w", "-o", p.paths[build]}, flags...)
		if err := command(exec.CommandContext(ctx, "go", args...)); err != nil {
			return err
		}
	}
	return nil
}

// patch takes out of the example whatever instruments it: sites, otelhttp, the SDK, the gate
// with its endpoint, and the ID that travels with a rollout. It is a patch, so that everybody
// can see that it takes out that and nothing else, and so that it fails when the example has
// become another. Then copy the example's files to a and b, take the same out of b, and
// write it with
//
//	git diff --no-index -U1 a b | sed "s:\([ab]\)/[ab]/:\1/:g"
//
//go:embed bare.patch
var patch string

// bare writes to dir the files of the example without instrumentation, and returns the
// overlay that go build takes them from.
func bare(ctx context.Context, source, dir string) (overlay string, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	names, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return "", err
	}
	replace := make(map[string]string)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		replace[name] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replace[name], text, 0o644); err != nil {
			return "", err
		}
	}
	apply := exec.CommandContext(ctx, "git", "apply", "-p1", "-")
	apply.Dir, apply.Stdin = dir, strings.NewReader(patch)
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // no repository that dir may be in
	if err := command(apply); err != nil {
		return "", fmt.Errorf("bench/internal/rollouts/bare.patch no longer fits examples/rollout; build.go says how to renew it: %w", err)
	}
	for name, instead := range replace {
		if _, err := os.Stat(instead); errors.Is(err, fs.ErrNotExist) {
			replace[name] = "" // go build takes it for a file that is not there
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

func command(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
