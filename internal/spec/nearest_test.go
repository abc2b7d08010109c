// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// distance is edits without a limit: the textbook recurrence, on which edits must agree.
func distance(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return distance(a[1:], b[1:])
	}
	d := 1 + min(distance(a[1:], b), distance(a, b[1:]), distance(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		d = min(d, 1+distance(a[2:], b[2:]))
	}
	return d
}

func TestEditsAgreesWithTheRecurrence(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 7, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, limit := word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(0, maxEdits).Draw(t, "limit")
		want := distance(a, b)
		if got := edits(a, b, limit); want <= limit {
			assert.Equal(t, want, got)
		} else {
			assert.Greater(t, got, limit)
		}
	})
}

func TestNearest(t *testing.T) {
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
