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

// content is what a file was seen to say. Two that are equal say the same.
type content struct {
	spec    string
	problem string // why spec is none; empty if it is one
	whole   bool   // it ends as a file ends that has been written to its end
}

// maxFile is the length in bytes of the longest file that is read: a spec, and some space.
const maxFile = spangate.MaxSpecLen + 1<<10

// readFile reads the file once and for all: while another process writes it, the beginning of
// one version and the end of another don't get into one reading. It is read twice for that.
func readFile(path string) content {
	// A named pipe must not be opened: that waits for who writes.
	if info, err := os.Stat(path); err != nil {
		return content{problem: explain(err)}
	} else if !info.Mode().IsRegular() {
		return content{problem: "it is no regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return content{problem: explain(err)}
	}
	defer f.Close()
	text, err := readOnce(f)
	again, err2 := readOnce(f)
	if err := cmp.Or(err, err2); err != nil {
		return content{problem: explain(err)}
	}
	if !bytes.Equal(text, again) {
		return content{problem: errGrows.Error()}
	}
	return readText(text)
}

// readOnce returns what is in f, or as much of it as shows that it is too long.
func readOnce(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(info.Size(), maxFile)+1)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if int64(n) > info.Size() {
		return nil, errGrows // what was read last may be of another version
	}
	return b[:n], nil
}

var errGrows = errors.New("it is being written")

// explain says what is wrong in words that are the same every time.
func explain(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it is not there"
	}
	return err.Error()
}

// readText reads the text of a file.
func readText(text []byte) content {
	if len(text) > maxFile {
		return content{problem: fmt.Sprintf("it is longer than the %d bytes that a spec may have", spangate.MaxSpecLen)}
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	s := spec.Trim(string(text))
	c := content{
		spec: s,
		// Of a file that is cut off in the midst, the last line has no end; of a spec on
		// several lines that is cut off between two, the comma is last.
		whole: bytes.HasSuffix(text, []byte("\n")) && !strings.HasSuffix(s, ","),
	}
	if problem := checkFile(s); problem != "" {
		c.spec, c.problem = "", problem
		c.whole = false // what is wrong may be that it is half written
	}
	return c
}

// checkFile returns what is wrong with s as the spec of a file, or "".
func checkFile(s string) string {
	if !utf8.ValidString(s) {
		return "it is not UTF-8"
	}
	if len(s) > spangate.MaxSpecLen {
		return fmt.Sprintf("it is longer than the %d bytes that a spec may have", spangate.MaxSpecLen)
	}
	blank := true
	for e := range spec.Entries(s) {
		blank = false
		if !validName(e.Name) {
			return fmt.Sprintf("%q can't be a name; a comma stands between two", spec.Head(e.Name))
		}
	}
	if blank {
		return "it is blank; to switch everything off, write -all"
	}
	return ""
}

// validName reports whether somebody could register name, in some case.
func validName(name string) bool {
	var buf [spec.MaxNameLen]byte
	folded, ok := spec.Fold(&buf, name)
	if !ok {
		return false
	}
	_, err := spangate.NewCatalog("x", []spangate.Group{{Name: string(folded), Bit: 1}}, nil)
	return err == nil || errors.Is(err, spangate.ErrReservedName)
}
