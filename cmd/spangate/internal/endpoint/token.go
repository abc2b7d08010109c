// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxToken is the length in bytes of the longest token that is read.
const maxToken = 16 << 10

// Token is a bearer token. It prints as nothing, so that no message repeats it.
type Token struct{ secret string }

var _ fmt.Formatter = Token{}

// Format prints no token, whatever the verb.
func (Token) Format(f fmt.State, _ rune) { io.WriteString(f, "(token)") }

// NewToken returns the token that text holds, without the space around it, such as the
// newline at the end of a file. An empty one is none.
func NewToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Token{}, errors.New("it has space or other characters in it that no token has")
	}
	return Token{text}, nil
}

// ReadToken reads the token that is in a file.
func ReadToken(name string) (Token, error) {
	f, err := os.Open(name)
	if err != nil {
		return Token{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	switch {
	case err != nil:
		return Token{}, err
	case len(b) > maxToken:
		return Token{}, fmt.Errorf("%s is longer than %d bytes, which no token is", name, maxToken)
	}
	t, err := NewToken(string(b))
	switch {
	case err != nil:
		return Token{}, fmt.Errorf("%s: %w", name, err)
	case t == Token{}:
		return Token{}, fmt.Errorf("%s is empty", name)
	}
	return t, nil
}
