// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"fmt"
	"io"
)

// The bounds on an answer as it is read. The state of a process with 10,000 leases, each on
// all of 64 groups with names of 15 bytes and quieting them all, stays below them. An answer at
// them takes about 550 MB of memory to decode and draw.
const (
	maxBytes    = 64 << 20 // after decompression
	maxValues   = 4 << 20  // objects, lists and commas
	maxObjects  = 1 << 16  // each becomes a struct, which is many times larger than its JSON
	maxElements = 1 << 17  // of one list or object; a null in a list becomes a struct too
	maxDepth    = 32       // the state itself has 5
)

// tooLarge is an answer beyond the bounds.
type tooLarge struct{ what string }

func (e *tooLarge) Error() string { return "more than " + e.what }

// bounded reads an answer and fails with a [*tooLarge] as soon as it exceeds the bounds, so
// that no more than that is kept, decoded or drawn. It reads every answer as JSON: in other
// text it counts the characters that JSON would count.
type bounded struct {
	r                             io.Reader
	elements                      [maxDepth + 2]int // by depth: the commas in the open list or object
	bytes, values, objects, depth int
	inString, escaped             bool
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.bytes += n
	for rest := p[:n]; len(rest) > 0; {
		if b.inString && !b.escaped { // most of an answer
			i := bytes.IndexAny(rest, `"\`)
			if i < 0 {
				break
			}
			rest = rest[i:]
		}
		b.count(rest[0])
		rest = rest[1:]
		switch {
		case b.depth > maxDepth:
			return 0, &tooLarge{fmt.Sprintf("%d levels of nesting", maxDepth)}
		case b.elements[b.depth] >= maxElements:
			return 0, &tooLarge{fmt.Sprintf("%d elements in a list or object", maxElements)}
		}
	}
	switch {
	case b.objects > maxObjects:
		return 0, &tooLarge{fmt.Sprintf("%d objects", maxObjects)}
	case b.values > maxValues:
		return 0, &tooLarge{fmt.Sprintf("%d values", maxValues)}
	case b.bytes > maxBytes:
		return 0, &tooLarge{fmt.Sprintf("%d MiB", maxBytes>>20)}
	}
	return n, err
}

func (b *bounded) count(c byte) {
	switch {
	case b.escaped:
		b.escaped = false
	case b.inString:
		b.escaped, b.inString = c == '\\', c != '"'
	case c == '"':
		b.inString = true
	case c == ',':
		b.values++
		b.elements[b.depth]++
	case c == '{', c == '[':
		if c == '{' {
			b.objects++
		}
		b.values++
		b.depth++
		b.elements[b.depth] = 0
	case c == '}', c == ']':
		b.depth = max(0, b.depth-1)
	}
}
