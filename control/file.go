// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/spec"
)

// maxFile is the length in bytes of the longest file that is read: a spec, and some space.
const maxFile = spangate.MaxSpecLen + 1<<10

var (
	errNotRegular = errors.New("it is no regular file")
	errWriting    = errors.New("it is being written")
)

// reading is the result of one read of a file. Equal readings found the same.
type reading struct {
	text string
	err  error
}

// readFile reads the file at path, or as much of it as shows that it is too long. It never waits
// for the other end of a pipe, and reads no device.
func readFile(path string) reading {
	text, err := readText(path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err // the caller names the path
	}
	return reading{string(text), err}
}

func readText(path string) ([]byte, error) {
	// The first check keeps a device from being opened, which may do something to it. The
	// second is for a file that took the place of another in between.
	if err := regular(os.Stat(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := regular(f.Stat()); err != nil {
		return nil, err
	}
	// While another process writes in place, one read may return the beginning of one
	// version and the end of another. Two such reads are hardly ever equal.
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxFile+1))
	again, errAgain := io.ReadAll(io.NewSectionReader(f, 0, maxFile+1))
	if err = cmp.Or(err, errAgain); err == nil && !bytes.Equal(text, again) {
		err = errWriting
	}
	return text, err
}

func regular(info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		return errNotRegular
	}
	return err
}

// spec returns the spec in the file, or why there is none.
func (r reading) spec() (string, error) {
	if r.err != nil {
		return "", r.err
	}
	if len(r.text) > maxFile {
		return "", fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if !utf8.ValidString(r.text) {
		return "", errors.New("it is not UTF-8")
	}
	text := r.text
	if bom := "\uFEFF"; strings.HasPrefix(text, bom) {
		text = strings.Repeat(" ", len(bom)) + text[len(bom):] // so that offsets stay those of the file
	}
	trimmed := spec.Trim(text)
	switch {
	case len(trimmed) > spangate.MaxSpecLen:
		return "", fmt.Errorf("its spec has %d bytes; at most %d are read", len(trimmed), spangate.MaxSpecLen)
	case strings.Trim(trimmed, ",") == "":
		return "", errors.New("it is blank; to switch everything off, write -all")
	case strings.HasSuffix(trimmed, ","):
		return "", errors.New("it ends in a comma, as a half-written file does; remove the comma")
	}
	return trimmed, specProblem(text)
}
