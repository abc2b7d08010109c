// SPDX-License-Identifier: Apache-2.0

//go:build !race

package libraries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate/otelgate"
)

// This module can't import the programs, since it would then require what they require. So the test reads
// scopes, names and kinds from the calls of Start in their source.
func TestProgramRulesDecideAboutEachSpanInTheSource(t *testing.T) {
	for _, p := range []struct {
		module string
		rules  otelgate.NamedRules
		starts int // calls of Start to be found at least
	}{
		{"github.com/openfga/openfga@v1.22.1", otelgate.OpenFGARules(), 100},
		{"github.com/prometheus/prometheus@v0.316.0", otelgate.PrometheusRules(), 20},
		{"github.com/traefik/traefik/v3@v3.7.13", otelgate.TraefikRules(), 8},
	} {
		t.Run(p.module, func(t *testing.T) {
			s := readSource(t, download(t, p.module))
			starts := s.resolve(t)
			assert.GreaterOrEqual(t, len(starts), p.starts)
			d := newDecider(t, p.rules)
			for _, start := range starts {
				assert.NotNil(t, d.groups(start.scope, start.name, start.kind), "no rule for %s %q %s in %s", start.scope, start.name, start.kind, start.at)
			}
			d.assertAllUsed(t)
		})
	}
}

// download returns the folder of the module's source.
func download(t *testing.T, module string) string {
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("%s can't be downloaded: %v %s", module, err, out)
	}
	require.NoError(t, err, "%s", out)
	var m struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &m))
	return m.Dir
}

// source is what the source of a program says about its spans.
type source struct {
	tracers map[[2]string]string // the scope of a tracer, by folder and variable
	scopes  map[string]bool      // of all tracers
	starts  []startCall
	// operations are the literals that the method SpanOperation returns: Prometheus names spans so.
	operations []string
}

// startCall is a call of Start.
type startCall struct {
	scope, name    string // the name is empty if it is not a literal, nor begins with one
	kind           trace.SpanKind
	folder, tracer string // the variable of the tracer, if the call has it
	at             string
}

func readSource(t *testing.T, dir string) *source {
	s := &source{tracers: make(map[[2]string]string), scopes: make(map[string]bool)}
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("racer")) && !bytes.Contains(text, []byte("SpanOperation")) {
			return err
		}
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec: // var tracer = otel.Tracer("scope")
				for i, v := range n.Values {
					if scope, ok := scopeOf(v); ok {
						s.tracers[[2]string{filepath.Dir(path), n.Names[i].Name}] = scope
					}
				}
			case *ast.FuncDecl:
				if n.Name.Name == "SpanOperation" {
					ast.Inspect(n, func(n ast.Node) bool {
						switch n := n.(type) {
						case *ast.CaseClause:
							return n.List != nil // the default is for values that don't occur
						case *ast.ReturnStmt:
							s.operations = append(s.operations, literal(n.Results[0]))
						}
						return true
					})
				}
			case *ast.CallExpr:
				if scope, ok := scopeOf(n); ok {
					s.scopes[scope] = true
				}
				if c, ok := startOf(n); ok {
					c.folder, c.at = filepath.Dir(path), files.Position(n.Pos()).String()
					s.starts = append(s.starts, c)
				}
			}
			return true
		})
		return nil
	}))
	return s
}

// scopeOf returns the scope of a call such as otel.Tracer("scope").
func scopeOf(e ast.Expr) (scope string, ok bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Tracer" {
		return "", false
	}
	if _, ok := call.Args[0].(*ast.BasicLit); !ok {
		return "", false
	}
	return literal(call.Args[0]), true
}

// startOf returns the call of Start of a tracer.
func startOf(call *ast.CallExpr) (c startCall, ok bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Start" || len(call.Args) < 2 {
		return c, false
	}
	switch x := f.X.(type) {
	case *ast.CallExpr: // otel.Tracer("scope").Start
		if _, ok := scopeOf(x); !ok {
			return c, false
		}
		c.scope, _ = scopeOf(x)
		c.scope = cmp.Or(c.scope, otelgate.EmptyScope)
	case *ast.Ident:
		c.tracer = x.Name
	case *ast.SelectorExpr: // e.tracer.Start
		c.tracer = x.Sel.Name
	}
	if c.scope == "" && !strings.HasSuffix(c.tracer, "racer") {
		return c, false
	}
	c.name, c.kind = literal(call.Args[1]), trace.SpanKindInternal
	for _, option := range call.Args[2:] {
		ast.Inspect(option, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for k := trace.SpanKindInternal; k <= trace.SpanKindConsumer; k++ {
					if strings.EqualFold(id.Name, "SpanKind"+k.String()) {
						c.kind = k
					}
				}
			}
			return true
		})
	}
	return c, true
}

// literal returns the string that e is, or begins with; "" if that is no literal.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return literal(e.X)
	}
	return ""
}

// resolve returns the starts, each with a scope and a name. A name that is computed is each of
// the program's operations, or "computed".
func (s *source) resolve(t *testing.T) []startCall {
	var resolved []startCall
	for _, c := range s.starts {
		if c.scope == "" {
			c.scope = s.tracers[[2]string{c.folder, c.tracer}]
		}
		if c.scope == "" && len(s.scopes) == 1 { // a tracer that is passed around
			for c.scope = range s.scopes {
			}
		}
		if !assert.NotEmpty(t, c.scope, "the scope of the tracer in %s", c.at) {
			continue
		}
		if c.name == "" && s.operations != nil {
			for _, c.name = range s.operations {
				resolved = append(resolved, c)
			}
			continue
		}
		c.name = cmp.Or(c.name, "computed")
		resolved = append(resolved, c)
	}
	return resolved
}
