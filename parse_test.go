// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
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
	assert.Equal(t, append(presetNames(spangate.Gym), strings.Split(spangate.Gym.Format(spangate.PresetAll), ",")...), e.Valid)

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
	assert.Len(t, e.Unknown, 600, "all of them are there for a program")
	assert.Less(t, len(err.Error()), 2000)
	assert.Equal(t, 8, strings.Count(err.Error(), "unknown name"))
	assert.Contains(t, err.Error(), "and 592 more")

	_, err = spangate.Parse(strings.Repeat("x,", 8))
	assert.Equal(t, 8, strings.Count(err.Error(), "unknown name"))
	assert.NotContains(t, err.Error(), "more")
}

func TestLongInputIsNotCutInTheMiddleOfARune(t *testing.T) {
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

func TestParseErrorOfAnEmptyCatalog(t *testing.T) {
	_, err := new(spangate.Catalog).Parse("job")
	assert.EqualError(t, err, `spangate: spec "job": unknown name "job" at byte 0; the catalog has no names at all`)
}

// What is returned must not hold on to the buffer that a spec was cut from.
func TestNamesThatAreReturnedAreCopies(t *testing.T) {
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
	assert.Less(t, len(err.Error()), 500)

	m, unknown = spangate.Gym.Resolve(fits + " ")
	assert.Zero(t, m)
	require.Len(t, unknown, 1)
	assert.Less(t, len(unknown[0]), 300)
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

// A spec of the greatest length whose names all come close to every name of the catalog
// costs the most to suggest for; it must not be a way to stall a process.
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
