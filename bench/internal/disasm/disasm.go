// SPDX-License-Identifier: Apache-2.0

// Package disasm shows what a package compiles to, for any processor, with the tools that
// come with Go.
package disasm

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Functions compiles the package and returns the mnemonics of each function that it exports,
// by name. The working directory has to be in the package's module.
func Functions(pkg, goarch string, tags ...string) (map[string][]string, error) {
	// The environment goes first, so that what is given here holds.
	env := append(os.Environ(), "GOOS=linux", "GOARCH="+goarch, "CGO_ENABLED=0")
	archive, err := run(env, "go", "list", "-export", "-tags="+strings.Join(tags, ","), "-f={{.Export}}", pkg)
	if err != nil {
		return nil, err
	}
	const exported = `\.[A-Z][A-Za-z0-9]*$`
	listing, err := run(env, "go", "tool", "objdump", "-s="+exported, strings.TrimSpace(archive))
	if err != nil {
		return nil, err
	}
	return parse(pkg, listing)
}

func run(env []string, name string, args ...string) (stdout string, err error) {
	cmd := exec.Command(name, args...)
	cmd.Env = env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return string(out), nil
}

// parse reads a listing of objdump: functions, each a line
//
//	TEXT path/of/package.Function(SB) file
//
// and a line an instruction, whose columns are separated by tabs, some of them empty:
//
//	file:line  address  bytes  mnemonic operands  relocation
func parse(pkg, listing string) (map[string][]string, error) {
	functions := make(map[string][]string)
	var current string
	for line := range strings.Lines(listing) {
		if symbol, ok := strings.CutPrefix(line, "TEXT "); ok {
			symbol, _, _ = strings.Cut(symbol, "(SB)")
			current = strings.TrimPrefix(symbol, pkg+".")
			functions[current] = nil
			continue
		}
		columns := strings.FieldsFunc(line, func(r rune) bool { return r == '\t' || r == '\n' })
		if len(columns) < 4 {
			continue
		}
		mnemonic, _, _ := strings.Cut(strings.TrimSpace(columns[3]), " ")
		if mnemonic == "?" { // what fills the space up to the next function
			continue
		}
		functions[current] = append(functions[current], mnemonic)
	}
	if len(functions) == 0 {
		return nil, fmt.Errorf("objdump shows no function of %s:\n%.500s", pkg, listing)
	}
	return functions, nil
}
