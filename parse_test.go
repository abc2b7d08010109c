// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

func TestParseWorkedSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"":                              "",
		" ":                             "",
		",,\t,":                         "",
		"job":                           "job",
		"default":                       "job,server,http_client,rollout",
		"default,sandbox":               "job,server,http_client,rollout,sandbox",
		" Default , SANDBOX ":           "job,server,http_client,rollout,sandbox",
		"default,,":                     "job,server,http_client,rollout",
		"all,-sandbox":                  "job,checkpoint,evaluate,model_init,load_checkpoint,step,forward_backward,optimizer,server,http_client,rollout,verify,agent,model_call",
		"-sandbox,all":                  "job,checkpoint,evaluate,model_init,load_checkpoint,step,forward_backward,optimizer,server,http_client,rollout,verify,agent,model_call",
		"default,-rollout":              "job,server,http_client",
		"default,-per_rollout":          "job",
		"sandbox,-sandbox,sandbox":      "",
		"-all":                          "",
		"-verify":                       "",
		"-Default,per_rollout":          "verify,agent,model_call",
		"\x1cjob\x1d,\u0085step\u00a0":  "job,step",
		"\u2003job\u3000,\n-\x53tep\r":  "job",
		"model_call,agent,model_call":   "agent,model_call",
		"-sandbox,-sandbox,job,sandbox": "job",
	} {
		m, err := spangate.Parse(spec)
		if assert.NoError(t, err, "%q", spec) {
			assert.Equal(t, want, spangate.Gym.Format(m), "%q", spec)
		}
		resolved, unknown := spangate.Gym.Resolve(spec)
		assert.Equal(t, m, resolved, "%q", spec)
		assert.Nil(t, unknown, "%q", spec)
	}
}

// The table of the package documentation.
func TestSpecsOfTheDocumentation(t *testing.T) {
	const query, cache, retry spangate.Mask = 1, 2, 4
	mydb := spangate.MustCatalog("mydb",
		[]spangate.Group{{Name: "query", Bit: query}, {Name: "cache", Bit: cache}, {Name: "retry", Bit: retry}},
		[]spangate.Preset{{Name: "default", Mask: query | retry}})
	for spec, want := range map[string]spangate.Mask{
		"":                  0,
		"default":           query | retry,
		"default,cache":     query | cache | retry,
		"all,-cache":        query | retry,
		"-cache,all":        query | retry,
		" Default , CACHE ": query | cache | retry,
		"default,,":         query | retry,
	} {
		m, err := mydb.Parse(spec)
		assert.NoError(t, err, "%q", spec)
		assert.Equal(t, want, m, "%q", spec)
	}
	for spec, want := range map[string]string{"querys": `did you mean "query"?`, "- cache": `unknown name " cache" at byte 1`} {
		_, err := mydb.Parse(spec)
		assert.ErrorContains(t, err, want, "%q", spec)
	}
}

func TestParseReportsEveryUnknownName(t *testing.T) {
	const spec = "default, Rolluot,x,-sandboxx,job,ÖL ,-,- verify,--job"
	m, err := spangate.Parse(spec)
	assert.Zero(t, m)
	var e *spangate.ParseError
	require.ErrorAs(t, err, &e)
	assert.ErrorIs(t, err, spangate.ErrUnknownName)
	assert.Equal(t, spec, e.Spec)
	assert.Equal(t, "nemo_gym", e.Namespace)
	assert.Equal(t, []spangate.UnknownName{
		{Name: "Rolluot", Offset: 9, Suggestion: "rollout"},
		{Name: "x", Offset: 17},
		{Name: "sandboxx", Offset: 20, Suggestion: "sandbox"},
		{Name: "ÖL", Offset: 33},
		{Name: "", Offset: 39},
		{Name: " verify", Offset: 41, Suggestion: "verify"},
		{Name: "-job", Offset: 50, Suggestion: "job"},
	}, e.Unknown)
	for _, u := range e.Unknown {
		assert.Equal(t, u.Name, spec[u.Offset:][:len(u.Name)])
	}
	assert.Equal(t, append(presetNames(spangate.Gym), spangate.Gym.Names(spangate.PresetAll)...), e.Valid)

	resolved, unknown := spangate.Gym.Resolve(spec)
	assert.Equal(t, "job,server,http_client,rollout", spangate.Gym.Format(resolved))
	assert.Equal(t, []string{"Rolluot", "x", "sandboxx", "ÖL", "", " verify", "-job"}, unknown)
}

func TestParseErrorSaysWhatWhereAndWhatToDo(t *testing.T) {
	_, err := spangate.Lens.Parse("job,cheкpoint,stp,-")
	assert.EqualError(t, err, `spangate: spec "job,cheкpoint,stp,-": unknown name "cheкpoint" at byte 4 (did you mean "checkpoint"?), `+
		`unknown name "stp" at byte 15 (did you mean "step"?), no name after the '-' at byte 19; `+
		`nemo_lens has default, per_step, all, job, checkpoint, evaluate, model_init, load_checkpoint, step, forward_backward, optimizer`)
}

func TestParseErrorStaysShort(t *testing.T) {
	spec := strings.Repeat(strings.Repeat("x", 100)+",", 600)
	_, err := spangate.Parse(spec)
	var e *spangate.ParseError
	require.ErrorAs(t, err, &e)
	assert.Len(t, e.Unknown, 600, "the field has all of them")
	assert.Less(t, len(err.Error()), 2000)
	assert.Equal(t, 8, strings.Count(err.Error(), "unknown name"))
	assert.Contains(t, err.Error(), "and 592 more")

	_, err = spangate.Parse(strings.Repeat("x,", 8))
	assert.Equal(t, 8, strings.Count(err.Error(), "unknown name"))
	assert.NotContains(t, err.Error(), "more")
}

func TestMessageCutsALongInputBetweenRunes(t *testing.T) {
	for pad := range 4 {
		long := strings.Repeat("x", pad) + strings.Repeat("\u20ac", spangate.MaxSpecLen)
		_, err := spangate.Parse(long)
		assert.NotContains(t, err.Error(), `\x`)
		assert.Contains(t, err.Error(), "\u20ac\u2026")
		_, unknown := spangate.Gym.Resolve(long)
		assert.True(t, utf8.ValidString(unknown[0]))

		_, err = spangate.Parse(long[:pad+3000])
		assert.NotContains(t, err.Error(), `\x`)
	}
}

// A message quotes an input of at most 259 bytes. Of a longer one it quotes the first 256 bytes,
// without an incomplete rune at their end, and "…".
func TestMessageQuotesTheBeginningOfALongInput(t *testing.T) {
	ascii := strings.Repeat("x", 300)
	euro, tail := strings.Repeat("\u20ac", 100), strings.Repeat("\x80", 300)
	for input, quoted := range map[string]string{
		ascii[:256]:                              ascii[:256],
		ascii[:257]:                              ascii[:257],
		ascii[:259]:                              ascii[:259],
		ascii[:260]:                              ascii[:256] + "…",
		ascii:                                    ascii[:256] + "…",
		euro[:258]:                               euro[:258],
		euro[:261]:                               euro[:255] + "…",
		"x" + euro:                               "x" + euro[:255] + "…",
		"xx" + euro:                              "xx" + euro[:252] + "…",
		strings.Repeat("\U0001f600", 70) + "x":   strings.Repeat("\U0001f600", 64) + "…",
		"xxx" + strings.Repeat("\U0001f600", 70): "xxx" + strings.Repeat("\U0001f600", 63) + "…",
		strings.Repeat("\xff", 300):              strings.Repeat("\xff", 256) + "…", // no byte is part of a rune
		tail:                                     tail[:252] + "…",                  // and no rune begins in the last four bytes
		ascii[:252] + "\xf0" + tail:              ascii[:252] + "…",
		ascii[:253] + "\xf0" + tail:              ascii[:253] + "…",
		ascii[:251] + "\xf0" + tail:              ascii[:251] + "\xf0…", // longer than any rune, so it is not one
	} {
		for what, c := range map[string]*spangate.Catalog{"a name": spangate.Gym, "every name of an empty catalog": new(spangate.Catalog)} {
			_, err := c.Parse(input)
			assert.ErrorContains(t, err, "spangate: spec "+strconv.Quote(quoted)+": unknown name "+strconv.Quote(quoted)+" at byte 0;", what)
		}
		_, err := spangate.NewCatalog(input, nil, nil)
		assert.ErrorContains(t, err, "spangate: catalog "+strconv.Quote(quoted)+": "+strconv.Quote(quoted)+": ")
	}
}

func TestMessageEscapesBytesThatAreNotUTF8(t *testing.T) {
	spec := strings.Repeat("\xff", 300)
	_, err := spangate.Parse(spec)
	quoted := `"` + strings.Repeat(`\xff`, 256) + `…"`
	assert.EqualError(t, err, "spangate: spec "+quoted+": unknown name "+quoted+" at byte 0; nemo_gym has "+
		strings.Join(append(presetNames(spangate.Gym), spangate.Gym.Names(spangate.PresetAll)...), ", "))
	resolved, unknown := spangate.Gym.Resolve(spec)
	assert.Zero(t, resolved)
	assert.Equal(t, []string{spec}, unknown)
}

// As a whole entry, and inside a name, where nothing is trimmed.
func TestParseReadsEveryByte(t *testing.T) {
	var alone, within []spangate.Group
	for i, c := range nameBytes {
		alone = append(alone, spangate.Group{Name: string(c), Bit: 1 << i})
		within = append(within, spangate.Group{Name: "a" + string(c) + "z", Bit: 1 << i})
	}
	within = append(within, spangate.Group{Name: "a-z", Bit: 1 << 63})
	one, three := spangate.MustCatalog("one", alone, nil), spangate.MustCatalog("three", within, nil)
	for b := range 256 {
		char := string([]byte{byte(b)})
		folded := strings.Map(pythonLowerRune, char)
		bit := spangate.Mask(0)
		if i := strings.Index(nameBytes, folded); i >= 0 {
			bit = 1 << i
		}

		m, err := one.Parse(char)
		assert.Equal(t, bit, m, "%q", char)
		skipped := char == "," || b < 0x80 && strings.Contains(pythonSpace, char)
		if bit != 0 || skipped {
			assert.NoError(t, err, "%q", char)
		} else {
			var e *spangate.ParseError
			require.ErrorAs(t, err, &e, "%q", char)
			name, minus := strings.CutPrefix(char, "-")
			offset := 0
			if minus {
				offset = 1
			}
			assert.Equal(t, name, e.Unknown[0].Name)
			assert.Equal(t, offset, e.Unknown[0].Offset)
		}

		if char == "-" {
			bit = 1 << 63
		}
		m, err = three.Parse("A" + char + "Z")
		assert.Equal(t, bit, m, "%q", char)
		assert.Equal(t, bit != 0, err == nil, "%q", char)
		_, known := three.Lookup("A" + char + "Z")
		assert.Equal(t, bit != 0, known, "%q", char)
	}
}

func TestParseErrorWithoutANamespace(t *testing.T) {
	e := &spangate.ParseError{Spec: "a", Unknown: []spangate.UnknownName{{Name: "a"}}, Valid: []string{"b", "c"}}
	assert.EqualError(t, e, `spangate: spec "a": unknown name "a" at byte 0; valid names are b, c`)
	assert.EqualError(t, new(spangate.ParseError), `spangate: spec "": <nil>`)
	assert.EqualError(t, new(spangate.CatalogError), `spangate: catalog "": "": <nil>`)
}

func TestParseErrorOfAnEmptyCatalog(t *testing.T) {
	_, err := new(spangate.Catalog).Parse("job")
	assert.EqualError(t, err, `spangate: spec "job": unknown name "job" at byte 0; there are no valid names`)
}

// A result must not keep the caller's buffer alive.
func TestReturnedNamesAreCopies(t *testing.T) {
	spec := strings.Clone("nope,job")
	_, err := spangate.Parse(spec)
	var e *spangate.ParseError
	require.ErrorAs(t, err, &e)
	_, unknown := spangate.Gym.Resolve(spec)
	for _, kept := range []string{e.Spec, e.Unknown[0].Name, unknown[0]} {
		assert.NotSame(t, unsafe.StringData(spec), unsafe.StringData(kept), kept)
	}
}

func TestSpecOverTheLimitIsRefused(t *testing.T) {
	fits := strings.Repeat(",", spangate.MaxSpecLen-len("job")) + "job"
	m, err := spangate.Parse(fits)
	require.NoError(t, err)
	assert.Equal(t, spangate.BitJob, m)
	m, unknown := spangate.Gym.Resolve(fits)
	assert.Equal(t, spangate.BitJob, m)
	assert.Nil(t, unknown)
	assert.Equal(t, 64<<10, len(fits))

	m, err = spangate.Parse(fits + " ")
	assert.Zero(t, m)
	var e *spangate.ParseError
	require.ErrorAs(t, err, &e)
	assert.ErrorIs(t, err, spangate.ErrSpecTooLong)
	assert.NotErrorIs(t, err, spangate.ErrUnknownName)
	assert.Empty(t, e.Unknown)
	assert.Contains(t, e.Valid, "rollout")
	assert.EqualError(t, err, `spangate: spec "`+strings.Repeat(",", 256)+`…": spec too long: 65537 bytes, at most 65536 are read`)

	m, unknown = spangate.Gym.Resolve(fits + " ")
	assert.Zero(t, m)
	assert.Equal(t, []string{strings.Repeat(",", 256) + "…"}, unknown)
}

func TestMustParsePanicsWithTheError(t *testing.T) {
	assert.Equal(t, spangate.BitJob, spangate.MustParse("job"))
	assert.PanicsWithError(t, spangateError(t, "jobb"), func() { spangate.MustParse("jobb") })
}

func spangateError(t *testing.T, spec string) string {
	t.Helper()
	_, err := spangate.Parse(spec)
	require.Error(t, err)
	return err.Error()
}

// Suggestions cost most for the longest spec, with names that are all close to every name of the
// catalog. That must not take long.
func TestSuggestionsForAHostileSpecAreBounded(t *testing.T) {
	groups := groupsOf(64)
	for i := range groups {
		groups[i].Name = strings.Repeat("a", 60) + groups[i].Name
	}
	c, err := spangate.NewCatalog("mylib", groups, nil)
	require.NoError(t, err)
	spec := strings.Repeat(strings.Repeat("a", 61)+",", 1<<10)
	_, err = c.Parse(spec)
	var e *spangate.ParseError
	require.ErrorAs(t, err, &e)
	assert.Len(t, e.Unknown, 1<<10)
	assert.Equal(t, groups[0].Name, e.Unknown[0].Suggestion)
}
