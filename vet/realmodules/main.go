// SPDX-License-Identifier: Apache-2.0

// Realmodules runs spangatevet over modules that use OpenTelemetry, and prints the findings, the number of
// spans started, and the time and memory that it took. It runs in the folder vet:
//
//	go run ./realmodules [-mode guard] [-keep DIR] module@version …
//
// Without arguments it takes the modules of the table below. Each is copied to a temporary folder from the
// module cache. In mode plain the copy stays as it is. In mode guard, each `ctx, span := tracer.Start(…)` is
// put behind a gate. In mode provider, each tracer comes from a gated provider. The other
// modes put starts behind a gate with one mistake each: shadow declares the context again in the block,
// twice asks the gate again for the end, hoisted keeps the answer in a package variable.
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
	"github.com/authzed/spicedb@v1.56.2",
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
	modes := []string{"plain", "guard", "provider", "shadow", "twice", "hoisted"}
	mode := flag.String("mode", "plain", strings.Join(modes, ", "))
	keep := flag.String("keep", "", "make the copies in this folder, and keep them")
	flag.Parse()
	if !slices.Contains(modes, *mode) {
		log.Fatalf("-mode %q: must be one of %s", *mode, strings.Join(modes, ", "))
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
	dropReplaces(dir)
	path := strings.TrimSpace(run(dir, "go", "list", "-m"))
	starts, rewritten := rewrite(dir, path, mode)
	vet := exec.Command("go", "vet", "-vettool="+tool, "./...")
	vet.Dir = dir
	begin := time.Now()
	out, err := vet.CombinedOutput()
	taken := time.Since(begin)
	rusage := vet.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Printf("== %s (%s): %d starts, %d rewritten, %.0f s, %.0f s of CPU, at most %d MiB in a process; %v\n", module, mode, starts, rewritten,
		taken.Seconds(), (vet.ProcessState.UserTime() + vet.ProcessState.SystemTime()).Seconds(), rusage.Maxrss>>10, err)
	for line := range strings.Lines(string(out)) {
		fmt.Print(line)
	}
}

// dropReplaces drops the replaces by folders that are not part of the module.
func dropReplaces(dir string) {
	var mod struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	check(json.Unmarshal([]byte(run(dir, "go", "mod", "edit", "-json")), &mod))
	for _, r := range mod.Replace {
		if r.New.Version == "" && strings.HasPrefix(r.New.Path, "..") {
			run(dir, "go", "mod", "edit", "-dropreplace="+r.Old.Path)
		}
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

func Gated(p trace.TracerProvider) *otelgate.TracerProvider { return Provider }

func Off(ctx context.Context) (context.Context, trace.Span) { return ctx, noop.Span{} }
`

// edit replaces a part of a file.
type edit struct {
	start, end int
	text       string
}

// rewrite changes the module's files as the mode says, and returns how many starts it has, and how many
// places it changed.
func rewrite(dir, module, mode string) (starts, rewritten int) {
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
			next := map[ast.Stmt]ast.Stmt{} // the statements of lists, each with the one behind it
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt:
					link(next, n.List)
				case *ast.CaseClause:
					link(next, n.Body)
				case *ast.CallExpr:
					switch callee(pkg.TypesInfo, n) {
					case "(go.opentelemetry.io/otel/trace.Tracer).Start":
						starts++
					case "(go.opentelemetry.io/otel/trace.TracerProvider).Tracer":
						if sel, ok := n.Fun.(*ast.SelectorExpr); ok && mode == "provider" {
							rewritten++
							edits = append(edits, edit{at(sel.X.Pos()), at(sel.X.End()), "spangategates.Gated(" + text(sel.X) + ")"})
						}
					case "go.opentelemetry.io/otel.Tracer":
						if mode == "provider" {
							rewritten++
							edits = append(edits, edit{at(n.Fun.Pos()), at(n.Fun.End()), "spangategates.Provider.Tracer"})
						}
					}
				case *ast.AssignStmt:
					behind, listed := next[n]
					if mode == "plain" || mode == "provider" || !listed || len(n.Lhs) != 2 || len(n.Rhs) != 1 {
						break
					}
					call, ok := n.Rhs[0].(*ast.CallExpr)
					if !ok || callee(pkg.TypesInfo, call) != "(go.opentelemetry.io/otel/trace.Tracer).Start" {
						break
					}
					const ask = "spangategates.Gate.On(spangategates.Bit)"
					names := text(n.Lhs[0]) + ", " + text(n.Lhs[1])
					start := names + " " + n.Tok.String() + " spangategates.Off(" + text(call.Args[0]) + ")\nif " + ask + " {\n" + names + " = " + text(call) + "\n}"
					end, deferred := behind.(*ast.DeferStmt)
					deferred = deferred && callee(pkg.TypesInfo, end.Call) == "(go.opentelemetry.io/otel/trace.Span).End"
					switch span, _ := n.Lhs[1].(*ast.Ident); mode {
					case "shadow":
						ctx, ok := n.Lhs[0].(*ast.Ident)
						if !deferred || !ok || ctx.Name != text(call.Args[0]) || mentions(pkg.TypesInfo, file, span) > 2 {
							return true
						}
						start = "if " + ask + " {\nctx, span := " + text(call) + "\ndefer span.End()\n_ = ctx\n}"
						start = strings.NewReplacer("ctx, span", names, "span.End", span.Name+".End", "_ = ctx", "_ = "+ctx.Name).Replace(start)
						edits = append(edits, edit{at(end.Pos()), at(end.End()), ""})
					case "twice":
						if !deferred {
							return true
						}
						edits = append(edits, edit{at(end.Pos()), at(end.End()), "defer func() {\nif " + ask + " {\n" + text(end.Call) + "\n}\n}()"})
					case "hoisted":
						name := fmt.Sprintf("spangateOn%d", n.Pos())
						edits = append(edits, edit{len(source), len(source), "\nvar " + name + " = " + ask + "\n"})
						start = strings.Replace(start, "if "+ask, "if "+name, 1)
					}
					rewritten++
					edits = append(edits, edit{at(n.Pos()), at(n.End()), start})
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
	return starts, rewritten
}

func link(next map[ast.Stmt]ast.Stmt, list []ast.Stmt) {
	for i, s := range list {
		next[s] = nil
		if i+1 < len(list) {
			next[s] = list[i+1]
		}
	}
}

// mentions returns how often the file names the variable that id is.
func mentions(info *types.Info, file *ast.File, id *ast.Ident) (n int) {
	obj := info.ObjectOf(id)
	ast.Inspect(file, func(node ast.Node) bool {
		if other, ok := node.(*ast.Ident); ok && info.ObjectOf(other) == obj {
			n++
		}
		return true
	})
	return n
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
