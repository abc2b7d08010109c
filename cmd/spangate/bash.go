// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"
)

// commas undoes what cobra's script for bash does to a comma: it compares what has been typed
// with completions that are quoted by printf %q, which puts a backslash before commas, so that
// nothing behind a comma would complete. The lines to the left are those of the script.
var commas = strings.NewReplacer(
	`comp=$(printf "%q" "${compline%%$tab*}")`, `comp=$(printf "%q" "${compline%%$tab*}"); comp=${comp//\\,/,}`,
	`COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]%%$tab*}")`, `COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]%%$tab*}"); COMPREPLY[0]=${COMPREPLY[0]//\\,/,}`,
	`COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}")`, `COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]}"); COMPREPLY[0]=${COMPREPLY[0]//\\,/,}`,
)

// completeAfterCommas has the command that cobra adds write a script for bash that completes
// after commas.
func completeAfterCommas(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		panic(err) // cobra always adds it
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := root.GenBashCompletionV2(&script, !bare); err != nil {
			return err
		}
		_, _ = commas.WriteString(cmd.OutOrStdout(), script.String()) // to a screen, which keeps its error
		return nil
	}
}
