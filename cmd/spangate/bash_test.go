// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pressTab does what the package bash-completion does for the script, and bash when Tab is pressed.
const pressTab = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}; }
compopt() { :; } # complains outside a completion
eval "$(spangate completion bash "${@:2}")"
COMP_WORDS=(spangate explain "$1") COMP_CWORD=2 COMP_LINE="spangate explain $1" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
__start_spangate
printf '%s\n' "${COMPREPLY[@]}"
`

func TestBashCompletesAfterCommas(t *testing.T) {
	for _, flags := range [][]string{nil, {"--no-descriptions"}} {
		for typed, want := range map[string][]string{
			"sand":              {"sandbox"},
			"default,sand":      {"default,sandbox"},
			"default,job,-sand": {"default,job,-sandbox"},
			"default,s":         {"default,sandbox", "default,server", "default,step"},
			"default,x":         {""},
		} {
			out, err := exec.CommandContext(t.Context(), "bash", append([]string{"-c", pressTab, "bash", typed}, flags...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			var got []string
			for line := range strings.Lines(string(out)) {
				name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ") // its doc follows
				got = append(got, name)
			}
			assert.ElementsMatch(t, want, got, "%q %q", typed, flags)
		}
	}
}
