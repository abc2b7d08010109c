// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

func TestDocsHaveARowForEveryGroupAndPreset(t *testing.T) {
	b, err := os.ReadFile("docs/gym.md")
	require.NoError(t, err)
	page := string(b)

	for i, g := range positions {
		group, _ := spangate.Gym.Group(g.name)
		assert.Contains(t, page, fmt.Sprintf("\n| `%s` | %d | %s |\n", g.name, i, group.Doc))
	}
	for p := range spangate.Gym.Presets() {
		members := "`" + strings.Join(spangate.Gym.Names(p.Mask), "`, `") + "`"
		if p.Name == spangate.NameAll {
			members = fmt.Sprintf("all %d", p.Mask.Count())
		}
		assert.Contains(t, page, fmt.Sprintf("\n| `%s` | %s |\n", p.Name, members))
	}
}
