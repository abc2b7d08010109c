// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spangate/spangate"
)

// catalog is the flag that chooses a vocabulary. Its zero value is Gym.
type catalog struct{ *spangate.Catalog }

var _ pflag.Value = (*catalog)(nil)

var catalogs = map[string]*spangate.Catalog{"gym": spangate.Gym, "lens": spangate.Lens}

const catalogNames = "gym|lens"

func (c *catalog) String() string {
	for name, catalog := range catalogs {
		if c.Catalog == catalog {
			return name
		}
	}
	return ""
}

func (c *catalog) Set(name string) error {
	found, ok := catalogs[strings.ToLower(name)]
	if !ok {
		return usagef("there is no such catalog; there are gym (NeMo Gym) and lens (nemo-lens)")
	}
	c.Catalog = found
	return nil
}

func (c *catalog) Type() string { return catalogNames }

// flag adds the flag to a command.
func (c *catalog) flag(cmd *cobra.Command) {
	c.Catalog = spangate.Gym
	cmd.Flags().Var(c, "catalog", "vocabulary: gym is NeMo Gym's, lens is nemo-lens's")
	_ = cmd.RegisterFlagCompletionFunc("catalog", cobra.FixedCompletions( // fails for a flag that there is not
		[]cobra.Completion{"gym\tNeMo Gym's", "lens\tnemo-lens's"}, cobra.ShellCompDirectiveNoFileComp))
}

// group is a group as JSON. Its mask is a string, since a JSON number does not hold 64 bits
// everywhere.
type group struct {
	Name    string   `json:"name"`
	Bit     int      `json:"bit"`
	Mask    string   `json:"mask"`
	Presets []string `json:"presets"`
	Doc     string   `json:"doc"`
}

// preset is a preset as JSON.
type preset struct {
	Name   string   `json:"name"`
	Mask   string   `json:"mask"`
	Groups []string `json:"groups"`
	Doc    string   `json:"doc"`
}

// groupsOf returns the groups of m, in bit order.
func (c *catalog) groupsOf(m spangate.Mask) []group {
	groups := []group{}
	for g := range c.Groups() {
		if !m.HasAny(g.Bit) {
			continue
		}
		row := group{Name: g.Name, Bit: bits.TrailingZeros64(uint64(g.Bit)), Mask: g.Bit.String(), Presets: []string{}, Doc: g.Doc}
		for p := range c.Presets() {
			if p.Mask.HasAny(g.Bit) {
				row.Presets = append(row.Presets, p.Name)
			}
		}
		groups = append(groups, row)
	}
	return groups
}

// names returns the names of the groups of m, in bit order.
func (c *catalog) names(m spangate.Mask) []string {
	names := []string{}
	for g := range c.Groups() {
		if m.HasAny(g.Bit) {
			names = append(names, g.Name)
		}
	}
	return names
}

func (p *program) groups() *cobra.Command {
	var c catalog
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "groups",
		Short:             "Show the groups of a vocabulary, with their bits",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			groups := c.groupsOf(c.All())
			if asJSON {
				p.out.json(groups)
				return nil
			}
			rows := [][]string{}
			for _, g := range groups {
				in := slices.DeleteFunc(g.Presets, func(name string) bool { return name == spangate.NameAll })
				rows = append(rows, []string{g.Name, strconv.Itoa(g.Bit), g.Mask, list(in, ""), g.Doc})
			}
			p.out.table([]string{"GROUP", "BIT", "MASK", "PRESETS", "SPANS"}, rows)
			return nil
		},
	}
	c.flag(cmd)
	jsonFlag(cmd.Flags(), &asJSON, "the groups")
	return cmd
}

func (p *program) presets() *cobra.Command {
	var c catalog
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "presets",
		Short:             "Show the presets of a vocabulary, with their groups",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			presets, rows := []preset{}, [][]string{}
			for pr := range c.Presets() {
				names := c.names(pr.Mask)
				presets = append(presets, preset{Name: pr.Name, Mask: pr.Mask.String(), Groups: names, Doc: pr.Doc})
				rows = append(rows, []string{pr.Name, pr.Mask.String(), pr.Doc, list(names, "nothing")})
			}
			if asJSON {
				p.out.json(presets)
				return nil
			}
			p.out.table([]string{"PRESET", "MASK", "CHOOSE IT FOR", "GROUPS"}, rows)
			return nil
		},
	}
	c.flag(cmd)
	jsonFlag(cmd.Flags(), &asJSON, "the presets")
	return cmd
}
