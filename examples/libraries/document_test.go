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

// TestDocumentsQuoteCompiledCode ignores indentation and empty lines, since a quote of a function's body
// has fewer of both.
func TestDocumentsQuoteCompiledCode(t *testing.T) {
	for document, sources := range map[string][]string{
		"libraries.md":  {"*.go", "*/*.go", "*/*/*.go"},
		"operations.md": {"../service/*.go"},
	} {
		text, err := os.ReadFile("../../docs/" + document)
		require.NoError(t, err)
		var code strings.Builder
		for _, pattern := range sources {
			files, err := filepath.Glob(pattern)
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, file := range files {
				source, err := os.ReadFile(file)
				require.NoError(t, err)
				code.WriteString(indentation.ReplaceAllString(string(source), ""))
			}
		}
		quotes := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
		require.NotEmpty(t, quotes, document)
		for _, quote := range quotes {
			require.Contains(t, code.String(), indentation.ReplaceAllString(string(quote[1]), ""), document)
		}
	}
}
