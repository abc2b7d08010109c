// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/registry"
)

// exported returns the exported functions and methods of this package, as in "New" and
// "Registry.Pin".
func exported(t *testing.T) []string {
	t.Helper()
	var names []string
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if name := file.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			if fn.Recv == nil {
				names = append(names, fn.Name.Name)
				continue
			}
			receiver := fn.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if of := receiver.(*ast.Ident); of.IsExported() {
				names = append(names, of.Name+"."+fn.Name.Name)
			}
		}
	}
	return names
}

// TestNothingPanicsForNilOrZero calls every exported function and method with zero arguments,
// methods on nil and zero receivers. Errors have the package's prefix, and lists are not nil.
func TestNothingPanicsForNilOrZero(t *testing.T) {
	functions := map[string]any{
		"New": registry.New, "Default": registry.Default, "Logger": registry.Logger,
		"Override": registry.Override, "Shared": registry.Shared, "Yield": registry.Yield, "Preset": registry.Preset, "Scopes": registry.Scopes,
	}
	receivers := map[string][]any{
		"Registry": {(*registry.Registry)(nil), new(registry.Registry), registry.New(nil, registry.Logger(nil), nil)},
		"State":    {registry.State{}, (*registry.Registry)(nil).State()},
		"Error":    {new(registry.Error), &registry.Error{Op: "register"}},
	}
	names := exported(t)
	require.Greater(t, len(names), 25)
	for _, name := range names {
		var fns []reflect.Value
		if of, method, isMethod := strings.Cut(name, "."); isMethod {
			require.Contains(t, receivers, of, "add the type to receivers")
			for _, receiver := range receivers[of] {
				fns = append(fns, reflect.ValueOf(receiver).MethodByName(method))
			}
		} else {
			require.Contains(t, functions, name, "add the function to functions")
			fns = append(fns, reflect.ValueOf(functions[name]))
		}
		for i, fn := range fns {
			var args []reflect.Value
			for j := range fn.Type().NumIn() {
				if fn.Type().IsVariadic() && j == fn.Type().NumIn()-1 {
					// One zero value, which for an option is a nil one.
					args = append(args, reflect.Zero(fn.Type().In(j).Elem()))
					break
				}
				args = append(args, reflect.Zero(fn.Type().In(j)))
			}
			outs := [][]reflect.Value{fn.Call(args)}
			if fn.Type().IsVariadic() {
				outs = append(outs, fn.Call(args[:len(args)-1]))
			}
			for _, out := range outs {
				for _, v := range out {
					if err, ok := v.Interface().(error); ok && name != "Error.Unwrap" {
						require.True(t, strings.HasPrefix(err.Error(), "spangate/registry: ") || strings.HasPrefix(err.Error(), "spangate: "), "%s of receiver %d: %v", name, i, err)
					}
					if v.Kind() == reflect.Slice {
						require.False(t, v.IsNil(), "%s of receiver %d: a list is never nil", name, i)
					}
				}
			}
		}
	}
}

func TestNilRegistryRefusesChangesAndReadsAsEmpty(t *testing.T) {
	var r *registry.Registry
	gate := spangate.NewGate(spangate.BitJob)
	for _, err := range []error{
		r.Register(spangate.Gym, gate), r.Register(nil, nil, nil), r.Unregister("nemo_gym"), r.Pin("job"), r.Pin(),
	} {
		require.ErrorIs(t, err, registry.ErrNilRegistry)
		require.ErrorContains(t, err, "make one with registry.New, or use registry.Default()")
	}
	require.Equal(t, []string{"job"}, r.SetSpec("job,all"))
	require.Equal(t, registry.State{}.Generation(), r.State().Generation())
	requireAsModel(t, newModel(), r, nil)
	require.Equal(t, spangate.BitJob, gate.Load())
	mylib(t).add(t, registry.New(), nil, registry.Override(), nil)
}
