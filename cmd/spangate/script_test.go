// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

var update = flag.Bool("update", false, "update the files of testdata that scripts compare with")

// TestScripts runs the scripts of testdata, which read as a specification. Besides the
// commands of testscript they have
//
//	process [OPTION=VALUE…]   starts a process, and sets SPANGATE_URL to its endpoint; options are
//	                          token, readonly, deny, ceiling, roots, leases (how many there may be)
//	also NAME [OPTION=VALUE…]  starts another, besides, and sets NAME to the URL of its endpoint
//	restart                   ends it, and starts another at the same address
//	end                       ends it
//	gate SPEC                 waits until its gate shows just these groups
//	polled N                  waits until N commands that watch it, or a lease, have seen its state
//	pin GROUP…                its program pins these groups
//	library                   a library registers, with the group query
//	code N COMMAND…           the command ends with this exit code
//	json stdout|stderr        what the command wrote is JSON, whole or line by line
//	grab NAME PATTERN         sets NAME to what the parentheses of PATTERN match in stdout
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			r := &scriptProcess{}
			env.Values[key{}] = r
			env.Defer(r.end)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"process": onProcess(func(ts *testscript.TestScript, r *scriptProcess, args []string) {
				r.end()
				r.args = args
				r.begin(ts, "")
				ts.Setenv(envURL, r.url())
			}),
			"also": func(ts *testscript.TestScript, _ bool, args []string) {
				r := &scriptProcess{args: args[1:]}
				r.begin(ts, "")
				ts.Setenv(args[0], r.url())
				ts.Defer(r.end)
			},
			"restart": onProcess(func(ts *testscript.TestScript, r *scriptProcess, _ []string) {
				r.end()
				r.begin(ts, r.address)
			}),
			"end": onProcess(func(_ *testscript.TestScript, r *scriptProcess, _ []string) { r.end() }),
			"gate": onProcess(func(ts *testscript.TestScript, r *scriptProcess, args []string) {
				if !r.gateBecomes(args[0]) {
					ts.Fatalf("the gate shows %q", r.on())
				}
			}),
			"polled": onProcess(func(ts *testscript.TestScript, r *scriptProcess, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				if !r.polled(n) {
					ts.Fatalf("fewer than %d commands ask", n)
				}
			}),
			"pin": onProcess(func(ts *testscript.TestScript, r *scriptProcess, args []string) { ts.Check(r.registry.Pin(args...)) }),
			"library": onProcess(func(ts *testscript.TestScript, r *scriptProcess, _ []string) {
				ts.Check(r.registry.Register(library, new(spangate.Gate)))
			}),
			"code": codeCommand,
			"json": jsonCommand,
			"grab": grabCommand,
		},
	})
}

var library = spangate.MustCatalog("mydb", []spangate.Group{{Name: "query", Bit: 1, Doc: "one query"}}, nil)

// scriptProcess is the process of a script. The zero value is none.
type scriptProcess struct {
	*process
	args  []string
	ended bool
}

// key is the key of the *scriptProcess in the values of a script.
type key struct{}

func onProcess(do func(*testscript.TestScript, *scriptProcess, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) { do(ts, ts.Value(key{}).(*scriptProcess), args) }
}

func (r *scriptProcess) begin(ts *testscript.TestScript, address string) {
	endpoint := []control.HandlerOption{control.Authorize(control.Anyone())}
	var options []control.Option
	for _, arg := range r.args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "token":
			endpoint = []control.HandlerOption{control.Authorize(control.BearerToken(value))}
		case "readonly":
			endpoint = nil
		case "deny":
			options = append(options, control.Deny(value))
		case "ceiling":
			options = append(options, control.Ceiling(value))
		case "roots":
			options = append(options, control.Roots(func(*spangate.Gate) spangate.Mask { return spangate.MustParse(value) }))
		case "leases":
			n, err := strconv.Atoi(value)
			ts.Check(err)
			options = append(options, control.MaxLeases(n))
		default:
			ts.Fatalf("process has no option %q", name)
		}
	}
	p, err := newProcess(address, endpoint, options...)
	ts.Check(err)
	r.process, r.ended = p, false
}

func (r *scriptProcess) end() {
	if r.process != nil && !r.ended {
		r.ended = true
		if err := r.close(); err != nil {
			panic(err)
		}
	}
}

func codeCommand(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

func jsonCommand(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	for n := 0; ; n++ {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) && n > 0 {
			return
		}
		ts.Check(err)
	}
}

func grabCommand(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing matches %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}
