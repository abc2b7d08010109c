// SPDX-License-Identifier: Apache-2.0

package libraries_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var indentation = regexp.MustCompile(`(?m)^\s+`)

// TestDocumentQuotesCompiledCode compares without indentation and empty lines, since a quote of a
// function's body has less of both.
func TestDocumentQuotesCompiledCode(t *testing.T) {
	document, err := os.ReadFile("../../docs/libraries.md")
	require.NoError(t, err)
	var code strings.Builder
	for _, pattern := range []string{"*.go", "*/*.go", "*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			code.WriteString(indentation.ReplaceAllString(string(text), ""))
		}
	}
	quotes := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(document, -1)
	require.GreaterOrEqual(t, len(quotes), 9)
	for _, quote := range quotes {
		require.Contains(t, code.String(), indentation.ReplaceAllString(string(quote[1]), ""))
	}
}
