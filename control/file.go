// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
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

// ErrFile is a watched file that does not count as it is: it can't be read, is half written,
// or holds no spec.
var ErrFile = errors.New("the file does not count")

// content is the result of one look at a file.
type content struct {
	spec  string
	err   error // why there is no spec; nil if there is one
	whole bool  // it ends in a line end, as a file does that has been written to its end
}

// equal reports whether two looks found the same.
func (c content) equal(other content) bool {
	if c.err != nil && other.err != nil {
		return c.err.Error() == other.err.Error()
	}
	return c == other
}

// maxFile is the length in bytes of the longest file that is read: a spec, and some space.
const maxFile = spangate.MaxSpecLen + 1<<10

// readFile looks at the file that path leads to. It never waits for the other end of a pipe,
// and reads no device.
func readFile(path string) content {
	text, err := readText(path)
	if err != nil {
		return content{err: withoutPath(err)}
	}
	return parseFile(text)
}

// readText returns what the file holds, or as much as shows that it is too long.
func readText(path string) ([]byte, error) {
	// The first check keeps a device from being opened, which may do something to it. The
	// second is for a file that took the place of another in between.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	// While another process writes in place, one read may return the beginning of one
	// version and the end of another. Two such reads are hardly ever equal.
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxFile+1))
	if err != nil {
		return nil, err
	}
	again, err := io.ReadAll(io.NewSectionReader(f, 0, maxFile+1))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, again) {
		return nil, errWriting
	}
	return text, nil
}

var (
	errNotRegular = errors.New("it is no regular file")
	errWriting    = errors.New("it is being written")
)

// parseFile reads the text of a file.
func parseFile(text []byte) content {
	fail := func(format string, args ...any) content {
		return content{err: fmt.Errorf(format, args...)}
	}
	if len(text) > maxFile {
		return fail("it has more than %d bytes", maxFile)
	}
	if !utf8.Valid(text) {
		return fail("it is not UTF-8")
	}
	s := string(text)
	if bom := "\uFEFF"; strings.HasPrefix(s, bom) {
		s = strings.Repeat(" ", len(bom)) + s[len(bom):] // so that offsets stay those of the file
	}
	trimmed := spec.Trim(s)
	switch {
	case len(trimmed) > spangate.MaxSpecLen:
		return fail("its spec has %d bytes; at most %d are read", len(trimmed), spangate.MaxSpecLen)
	case strings.Trim(trimmed, ",") == "":
		return fail("it is blank; to switch everything off, write -all")
	case strings.HasSuffix(trimmed, ","):
		return fail("it ends in a comma, as a half-written file does; remove the comma")
	}
	if err := specProblem(s); err != nil {
		return content{err: err}
	}
	return content{spec: trimmed, whole: strings.HasSuffix(s, "\n")}
}

// withoutPath returns err without the path, which the caller names.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
