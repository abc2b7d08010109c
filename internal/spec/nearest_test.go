// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// distance is edits without a limit: the textbook recurrence.
func distance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	pair := [2]string{a, b}
	d, known := distances[pair]
	if known {
		return d
	}
	if a[0] == b[0] {
		d = distance(a[1:], b[1:])
	} else {
		d = 1 + min(distance(a[1:], b), distance(a, b[1:]), distance(a[1:], b[1:]))
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			d = min(d, 1+distance(a[2:], b[2:]))
		}
	}
	distances[pair] = d
	return d
}

var distances = map[[2]string]int{}

// words returns every word over alphabet of at most longest letters, the shortest first.
func words(alphabet string, longest int) []string {
	all := []string{""}
	for last := all; longest > 0; longest-- {
		var longer []string
		for _, w := range last {
			for _, c := range alphabet {
				longer = append(longer, w+string(c))
			}
		}
		all, last = append(all, longer...), longer
	}
	return all
}

func TestEditsAgreesWithTheRecurrenceOnEveryShortWord(t *testing.T) {
	for _, all := range [][]string{words("ab", 6), words("abc", 4)} {
		for _, a := range all {
			for _, b := range all {
				want := distance(a, b)
				for limit := -1; limit <= maxEdits+1; limit++ {
					if got := edits(a, b, limit); want <= limit && got != want || want > limit && got <= limit {
						t.Fatalf("%q to %q within %d: %d edits, by the recurrence %d", a, b, limit, got, want)
					}
				}
			}
		}
	}
}

// nearest is a naive Nearest: the first candidate with the fewest edits, if they are at most three
// and at most a third of the name's length, rounded.
func nearest(name string, candidates []string) string {
	limit := map[int]int{0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 2, 8: 3, 9: 3, 10: 3, 11: 3, 12: 3}[len(name)]
	best, fewest := "", limit+1
	for _, c := range candidates {
		if d := distance(name, c); d < fewest {
			best, fewest = c, d
		}
	}
	return best
}

func TestNearestAgreesWithNaiveNearestOnEveryShortWord(t *testing.T) {
	for _, all := range [][]string{words("ab", 6), words("abc", 4)} {
		backwards := slices.Clone(all)
		slices.Reverse(backwards)
		var sevenths, elevenths []string // fewer words, so that the nearest are further away
		for i, w := range backwards {
			switch {
			case i%7 == 0:
				sevenths = append(sevenths, w)
			case i%11 == 0:
				elevenths = append(elevenths, w)
			}
		}
		for _, name := range all {
			for _, candidates := range [][]string{all[1:], backwards, sevenths, elevenths, {"a", "b"}, {"ba", "ab", "aa"}, {"abab"}, nil} {
				if got, want := Nearest(name, candidates), nearest(name, candidates); got != want {
					t.Fatalf("%q of %q: %q, by the naive one %q", name, candidates, got, want)
				}
			}
		}
	}
}

// Up to five edits from a name of each length.
func TestNearestAllowsAThirdOfTheNameAndThreeEdits(t *testing.T) {
	for length, most := range map[int]int{1: 0, 2: 1, 4: 1, 5: 2, 7: 2, 8: 3, 11: 3, 12: 3, 30: 3, 63: 3} {
		candidate := strings.Repeat("a", length)
		for edits := range 6 {
			if edits > length {
				break
			}
			name := strings.Repeat("b", edits) + candidate[edits:]
			want := candidate
			if edits > most {
				want = ""
			}
			assert.Equal(t, want, Nearest(name, []string{candidate}), "%d of %d bytes", edits, length)
		}
	}
}

func TestNearestAtTheGreatestLengths(t *testing.T) {
	longest := strings.Repeat("k", MaxNameLen)
	for name, want := range map[string]string{
		longest:                              longest,
		longest + "k":                        longest,
		longest + "kkk":                      longest,
		longest + "kkkk":                     "",
		strings.Repeat("\u212A", MaxNameLen): longest, // 189 bytes, which fold to 63
		strings.Repeat("\u212A", MaxNameLen) + "k":  "", // longer than any name
		strings.Repeat("\u212A", MaxNameLen)[:3*62]: longest,
		strings.Repeat("x", 64<<10):                 "",
	} {
		assert.Equal(t, want, Nearest(name, []string{longest}), "%d bytes", len(name))
	}
	assert.Empty(t, Nearest(longest, []string{longest + "k"}), "a candidate that is too long to be a name")
}

func TestNearestOfWorkedNames(t *testing.T) {
	names := []string{"default", "job", "rollout", "model_call", "step", "stop"}
	for name, want := range map[string]string{
		"rollouts":   "rollout",
		"ROLLOUTS":   "rollout",
		"rolluot":    "rollout",
		"jbo":        "job", // a swap is one edit, two would be too far
		"mdlcll":     "",
		"mdelcxll":   "model_call", // three edits
		"defualt":    "default",
		"jb":         "job",
		"modelcall":  "model_call",
		"chec":       "", // step is three edits away: too far for so short a name
		"stp":        "step",
		"x":          "",
		"":           "",
		"weather":    "",
		"jo\u212Ab":  "job",
		"r\xffllout": "rollout",
	} {
		assert.Equal(t, want, Nearest(name, names), "%q", name)
	}
}
