// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rewriterEnv names the file that the test program rewrites, in a process that a test starts.
const rewriterEnv = "SPANGATE_TEST_REWRITE"

// rewritten are the specs that the other process writes. No beginning of one, and no two joined,
// select what one of them selects.
var rewritten = []string{"job,server,sandbox", "step,verify,agent,model_call", "optimizer,\nrollout,\n http_client", "evaluate"}

// rewrites is how often it writes; the last of rewritten comes last.
const rewrites = 10_000

// rewrite rewrites the file in each of five ways, as fast as it can.
func rewrite(path string) {
	for i := range rewrites {
		spec := rewritten[(i+1)*7%len(rewritten)]
		if i == rewrites-1 {
			spec = rewritten[len(rewritten)-1]
		}
		var err error
		switch i / 10 % 5 {
		case 0: // piece by piece
			err = writePieces(path, spec+"\n")
		case 1:
			err = os.WriteFile(path, []byte(spec+"\r\n"), 0o644)
		case 2: // piece by piece, without a line end
			err = writePieces(path, spec)
		case 3:
			if err = os.Remove(path); err == nil {
				err = writePieces(path, "\ufeff"+spec+"\n")
			}
		case 4:
			next := filepath.Join(filepath.Dir(path), "next")
			if err = os.WriteFile(next, []byte(spec+"\n"), 0o644); err == nil {
				err = os.Rename(next, path)
			}
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

func writePieces(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for len(text) > 0 {
		// A piece ends in a comma, so it never takes effect, however long this process is
		// suspended.
		n := strings.IndexByte(text, ',') + 1
		if n == 0 {
			n = len(text)
		}
		if _, err := f.WriteString(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}
