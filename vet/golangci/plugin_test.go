// SPDX-License-Identifier: Apache-2.0

package golangci_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate/vet"
	_ "github.com/spangate/spangate/vet/golangci"
)

func TestSettingsSelectRules(t *testing.T) {
	plugin, err := register.GetPlugin("spangatevet")
	require.NoError(t, err)

	linter, err := plugin(map[string]any{"disable": []string{"eagerwork"}, "ungated": true})
	require.NoError(t, err)
	require.Equal(t, register.LoadModeTypesInfo, linter.GetLoadMode())
	rules, err := linter.BuildAnalyzers()
	require.NoError(t, err)
	require.Len(t, rules, len(vet.Analyzers())-1)
	require.NotContains(t, rules, vet.EagerWork)
	require.Equal(t, "true", vet.Ungated.Flags.Lookup("enable").Value.String())

	linter, err = plugin(nil)
	require.NoError(t, err)
	rules, err = linter.BuildAnalyzers()
	require.NoError(t, err)
	require.Len(t, rules, len(vet.Analyzers()))
	require.Equal(t, "false", vet.Ungated.Flags.Lookup("enable").Value.String())
}

func TestUnknownSettingsAreErrors(t *testing.T) {
	plugin, err := register.GetPlugin("spangatevet")
	require.NoError(t, err)
	_, err = plugin(map[string]any{"disable": []string{"eagerworks"}})
	require.ErrorContains(t, err, `there is no rule "eagerworks"`)
	_, err = plugin(map[string]any{"enable": []string{}})
	require.ErrorContains(t, err, "enable")
}
