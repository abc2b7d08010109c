// SPDX-License-Identifier: Apache-2.0

// Command counted does one operation so many times, for a tool that counts instructions:
//
//	counted NAME N
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spangate/spangate/bench/internal/operation"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "counted:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want the name of an operation and how often to do it, got %q", args)
	}
	o, err := operation.ByName(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	loop := o.Prepare()
	loop(warmUp)
	counted(loop, n)
	return nil
}

// warmUp is how often the operation is done before the count begins, so that work that is done
// once is not counted. It is large since Go fills its caches of type assertions only now and
// then.
const warmUp = 8_000

// counted is the function that the tool counts in, which knows it by name.
//
//go:noinline
func counted(loop func(n int), n int) { loop(n) }
