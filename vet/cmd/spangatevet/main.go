// SPDX-License-Identifier: Apache-2.0

// Spangatevet finds mistakes at the instrumentation sites of spangate and OpenTelemetry.
//
//	spangatevet ./...                            reports
//	spangatevet -fix ./...                       applies the fixes
//	go vet -vettool=$(which spangatevet) ./...   the same as the first
//	go fix -fixtool=$(which spangatevet) ./...   the same as the second
//
// By itself it runs go vet or go fix, so all flags of these may be given, and each rule has a flag
// that selects it, as for go vet: -lostspan, -ungated.enable. spangatevet help lists the rules, and
// spangatevet help RULE describes one.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/spangate/spangate/vet"
)

func main() {
	args := os.Args[1:]
	// What the go command calls a tool with; see unitchecker.
	if len(args) == 0 || args[0] == "help" || args[0] == "-flags" || args[0] == "-V=full" || strings.HasSuffix(args[len(args)-1], ".cfg") {
		unitchecker.Main(vet.Analyzers()...)
	}
	os.Exit(run(args))
}

// run has the go command run this program over packages, and returns its exit code.
func run(args []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "spangatevet: finding the program to pass to go vet:", err)
		return 1
	}
	command := []string{"vet", "-vettool=" + self}
	if i := slices.Index(args, "-fix"); i >= 0 {
		command, args = []string{"fix", "-fixtool=" + self}, slices.Delete(args, i, i+1)
	}
	cmd := exec.Command("go", append(command, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "spangatevet: starting the go command:", err)
		return 1
	}
	return 0
}
