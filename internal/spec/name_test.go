// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInvalidTextIsRefusedWithEntryByteAndHint(t *testing.T) {
	for text, want := range map[string]string{
		`"default,sandbox"`:                `entry "\"default" can't be a name: it has '"' at byte 0; remove the quotes`,
		`'job'`:                            `entry "'job'" can't be a name: it has '\'' at byte 0; remove the quotes`,
		"job,“sandbox”":                    "at byte 4; remove the quotes",
		"[default, sandbox]":               `entry "[default" can't be a name: it has '[' at byte 0; write a comma-separated list without brackets, as in default,sandbox`,
		"job,(sandbox)":                    "it has '(' at byte 4; write a comma-separated list without brackets",
		`{"spec": "all"}`:                  "it has '{' at byte 0; write a comma-separated list without braces",
		"{{ .Values.spans }}":              "if this is a template, it was not expanded",
		"$(SPANS)":                         `entry "$(SPANS)" can't be a name: it has '$' at byte 0; the variable was not expanded`,
		"job,${SPANS}":                     "it has '$' at byte 4; the variable was not expanded",
		"%SPANS%":                          "the variable was not expanded",
		"default sandbox":                  `entry "default sandbox" can't be a name: it has ' ' at byte 7; a comma is missing between two names`,
		"job,default\tsandbox":             `it has '\t' at byte 11; a comma is missing between two names`,
		"default\nsandbox\n":               `it has '\n' at byte 7; a comma is missing between two names`,
		"default\u3000sandbox":             `at byte 7; a comma is missing between two names`,
		"default;sandbox":                  "it has ';' at byte 7; write a comma between two names",
		"default|sandbox":                  "write a comma between two names",
		"spans=default":                    "it has '=' at byte 5; write the names alone",
		"*":                                "it has '*' at byte 0; all is every group",
		"all #everything":                  "a comma is missing",
		"#off":                             "comments are not allowed",
		"all,--job":                        `entry "-job" can't be a name: it has '-' at byte 5; to exclude a group, write one '-' right before its name`,
		"!job":                             "to exclude a group",
		"all,–job":                         "it has '–' at byte 4; to exclude a group",
		"all,- job":                        `entry " job" can't be a name: it has ' ' at byte 5; write the name right after the '-'`,
		"all, -":                           "no name after the '-' at byte 5",
		"all,-,job":                        "no name after the '-' at byte 4",
		"\ufeffjob":                        `it has '\ufeff' at byte 0; a-z, 0-9, '_', '.' and '-' are allowed`,
		"job\x00":                          `it has '\x00' at byte 3`,
		"\x1bjob":                          `it has '\x1b' at byte 0`,
		"ſtep":                             "it has 'ſ' at byte 0",
		"job,a\xffb":                       `entry "a\xffb" is not UTF-8 at byte 5`,
		"job,a\ufffdb":                     `entry "a�b" can't be a name: it has '�' at byte 5`,
		"job," + strings.Repeat("x", 64):   "at byte 4 can't be a name: it is longer than 63 bytes",
		strings.Repeat("K", 64):            "longer than 63 bytes",
		strings.Repeat("\u212A", 63) + "x": "longer than 63 bytes",
		strings.Repeat("x", 1000) + "!":    "…\" can't be a name: it has '!' at byte 1000",
	} {
		err := CheckText(text)
		require.Error(t, err, "%q", text)
		assert.Contains(t, err.Error(), want, "%q", text)
		assert.Less(t, len(err.Error()), 500, "%q", text)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestHintForEveryCharacter(t *testing.T) {
	for chars, hint := range map[string]string{
		"\"'`“”‘’":           "remove the quotes",
		"[]()":               "without brackets",
		"{}":                 "without braces",
		"$%":                 "the variable was not expanded",
		";|+&":               "write a comma between two names",
		"=":                  "write the names alone",
		"*":                  "all is every group",
		"#":                  "comments are not allowed",
		"-!–—−":              "to exclude a group, write one '-' right before its name",
		"^~<>/\\:?@„‚―∓\x7f": "a-z, 0-9, '_', '.' and '-' are allowed",
	} {
		for _, r := range chars {
			assert.ErrorContains(t, CheckText("a,-"+string(r)+"x"), hint, "%q", r)
		}
	}
}

func TestTextOfValidNamesIsAccepted(t *testing.T) {
	for _, text := range []string{
		"", " ", ",", ",,\t,", "all", "default,late", " Default ,\r\n SANDBOX\x1c", "-all", "all,-late", "0", "_", ".", "a-", "5,true",
		"\u212Ax", strings.Repeat("x", 63), strings.Repeat("\u212A", 63), "-" + strings.Repeat("X", 63),
	} {
		assert.NoError(t, CheckText(text), "%q", text)
	}
}

func TestCheckNameAndCheckTextAgreeOnEveryByte(t *testing.T) {
	const lower = "0123456789_.abcdefghijklmnopqrstuvwxyz"
	for b := range 256 {
		name := string([]byte{byte(b)})
		folded := strings.ToLower(name)
		assert.Equal(t, strings.Contains(lower, name), CheckName(name) == nil, "%q", name)
		assert.Equal(t, strings.Contains(lower+"-", name), CheckName("x"+name) == nil, "%q", name)
		// Space, ',' and '-' are syntax in a spec.
		if Trim(name) != "" && !strings.Contains(",-", name) {
			assert.Equal(t, b < 0x80 && strings.Contains(lower, folded), CheckText(name) == nil, "%q", name)
		}
		if Trim(name) != "" && name != "," {
			assert.Equal(t, b < 0x80 && strings.Contains(lower+"-", folded), CheckText("x"+name+"x") == nil, "%q", name)
		}
	}
}

func TestCheckTextAgreesWithCheckNameOfFoldedNames(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aZ09_.-, \t\"$é\u212A\ufffd")), 0, 80, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		want := true
		for e := range Entries(s) {
			folded, ok := Fold(new([MaxNameLen]byte), e.Name)
			want = want && ok && CheckName(string(folded)) == nil
		}
		assert.Equal(t, want, CheckText(s) == nil)
	})
}
