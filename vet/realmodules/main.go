// SPDX-License-Identifier: Apache-2.0

// Realmodules runs spangatevet over modules that use OpenTelemetry, and prints the findings with the
// code, the number of spans started, and the time and memory that it took:
//
//	go run ./realmodules [-mode guard] [-keep DIR] module@version …
//
// Without arguments it takes the modules of the table below. Each is copied to a temporary folder from the
// module cache. In mode plain the copy stays as it is. In mode guard, each `ctx, span := tracer.Start(…)` is
// put behind a gate. In mode provider, each otel.Tracer(…) becomes a tracer of a gated provider.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

var modules = []string{
	"github.com/openfga/openfga@v1.22.1",
	"github.com/prometheus/prometheus@v0.316.0",
	"github.com/traefik/traefik/v3@v3.7.13",
	"github.com/XSAM/otelsql@v0.44.0",
	"github.com/exaring/otelpgx@v0.13.0",
	"github.com/twmb/franz-go/plugin/kotel@v1.7.1",
	"github.com/uptrace/bun/extra/bunotel@v1.2.18",
	"github.com/redis/go-redis/extra/redisotel/v9@v9.23.0",
	"gorm.io/plugin/opentelemetry@v0.1.16",
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc@v0.72.0",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("realmodules: ")
	mode := flag.String("mode", "plain", "plain, guard or provider")
	keep := flag.String("keep", "", "make the copies in this folder, and keep them")
	flag.Parse()
	if !slices.Contains([]string{"plain", "guard", "provider"}, *mode) {
		log.Fatalf("-mode %q: must be plain, guard or provider", *mode)
	}
	if flag.NArg() > 0 {
		modules = flag.Args()
	}
	root := strings.TrimSpace(run(".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/spangate/spangate")) // in the workspace
	scratch := *keep
	if scratch == "" {
		dir, err := os.MkdirTemp("", "realmodules")
		check(err)
		defer os.RemoveAll(dir)
		scratch = dir
	}
	tool := filepath.Join(scratch, "spangatevet")
	run(filepath.Join(root, "vet"), "go", "build", "-o", tool, "./cmd/spangatevet")
	os.Setenv("GOWORK", "off")
	os.Setenv("GOFLAGS", "-mod=mod")
	for _, module := range modules {
		examine(tool, root, scratch, module, *mode)
	}
}

func examine(tool, root, scratch, module, mode string) {
	var downloaded struct{ Dir string }
	check(json.Unmarshal([]byte(run(scratch, "go", "mod", "download", "-json", module)), &downloaded))
	dir := filepath.Join(scratch, strings.NewReplacer("/", "_", "@", "_").Replace(module)+"_"+mode)
	check(os.RemoveAll(dir))
	check(os.CopyFS(dir, os.DirFS(downloaded.Dir)))
	check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	}))
	if mode != "plain" {
		run(dir, "go", "mod", "edit", "-require=github.com/spangate/spangate@v0.1.0", "-replace=github.com/spangate/spangate="+root)
	}
	path := strings.TrimSpace(run(dir, "go", "list", "-m"))
	starts := rewrite(dir, path, mode)
	vet := exec.Command("go", "vet", "-vettool="+tool, "./...")
	vet.Dir = dir
	begin := time.Now()
	out, err := vet.CombinedOutput()
	taken := time.Since(begin)
	rusage := vet.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Printf("== %s (%s): %d starts, %.0f s, %.0f s of CPU, at most %d MiB in a process; %v\n", module, mode, starts,
		taken.Seconds(), (vet.ProcessState.UserTime() + vet.ProcessState.SystemTime()).Seconds(), rusage.Maxrss>>10, err)
	for line := range strings.Lines(string(out)) {
		fmt.Print(line)
	}
}

// off is the package that a rewritten module gets.
const off = `package spangategates

import (
	"context"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const Bit spangate.Mask = 1

var (
	Gate     spangate.Gate
	Provider *otelgate.TracerProvider
)

func Off(ctx context.Context) (context.Context, trace.Span) { return ctx, noop.Span{} }
`

// edit replaces a part of a file.
type edit struct {
	start, end int
	text       string
}

// rewrite changes the module's files as the mode says, and returns how many starts it has.
func rewrite(dir, module, mode string) (starts int) {
	gates := module + "/internal/spangategates"
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
		Dir:  dir, Fset: fset,
	}, "./...")
	check(err)
	for _, pkg := range pkgs {
		for _, file := range pkg.Syntax {
			name := fset.File(file.Pos()).Name()
			if !strings.HasPrefix(name, dir) {
				continue
			}
			source, err := os.ReadFile(name)
			check(err)
			at := func(p token.Pos) int { return fset.Position(p).Offset }
			text := func(n ast.Node) string { return string(source[at(n.Pos()):at(n.End())]) }
			var edits []edit
			lists := map[ast.Stmt]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt:
					for _, s := range n.List {
						lists[s] = true
					}
				case *ast.CaseClause:
					for _, s := range n.Body {
						lists[s] = true
					}
				case *ast.CallExpr:
					switch callee(pkg.TypesInfo, n) {
					case "(go.opentelemetry.io/otel/trace.Tracer).Start":
						starts++
					case "go.opentelemetry.io/otel.Tracer":
						if mode == "provider" {
							edits = append(edits, edit{at(n.Fun.Pos()), at(n.Fun.End()), "spangategates.Provider.Tracer"})
						}
					}
				case *ast.AssignStmt:
					if mode != "guard" || !lists[n] || len(n.Lhs) != 2 || len(n.Rhs) != 1 {
						break
					}
					call, ok := n.Rhs[0].(*ast.CallExpr)
					if !ok || callee(pkg.TypesInfo, call) != "(go.opentelemetry.io/otel/trace.Tracer).Start" {
						break
					}
					names := text(n.Lhs[0]) + ", " + text(n.Lhs[1])
					edits = append(edits, edit{at(n.Pos()), at(n.End()),
						names + " " + n.Tok.String() + " spangategates.Off(" + text(call.Args[0]) + ")\nif spangategates.Gate.On(spangategates.Bit) {\n" + names + " = " + text(call) + "\n}"})
				}
				return true
			})
			if len(edits) == 0 {
				continue
			}
			edits = append(edits, edit{at(file.Name.End()), at(file.Name.End()), "\n\nimport \"" + gates + "\"\n"})
			slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
			for _, e := range edits {
				source = slices.Concat(source[:e.start], []byte(e.text), source[e.end:])
			}
			if mode == "provider" && !bytes.Contains(source, []byte("otel.")) {
				source = bytes.Replace(source, []byte("\"go.opentelemetry.io/otel\""), []byte("_ \"go.opentelemetry.io/otel\""), 1)
			}
			check(os.WriteFile(name, source, 0o644))
		}
	}
	if mode != "plain" {
		check(os.MkdirAll(filepath.Join(dir, "internal/spangategates"), 0o755))
		check(os.WriteFile(filepath.Join(dir, "internal/spangategates/gates.go"), []byte(off), 0o644))
	}
	return starts
}

func callee(info *types.Info, call *ast.CallExpr) string {
	if fn, ok := typeutil.Callee(info, call).(*types.Func); ok {
		return fn.FullName()
	}
	return ""
}

func run(dir, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%s %s in %s: %v", name, strings.Join(args, " "), dir, err)
	}
	return string(out)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
