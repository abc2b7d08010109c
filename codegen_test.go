// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// goCommand runs the go command for an architecture and returns what it prints.
func goCommand(t *testing.T, arch string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", cmd, errs.String())
	return strings.TrimSpace(string(out)), errs.String()
}

// An instruction of objdump's listing: "  site.go:32	0x45c	90000000	ADRP 0(PC), R0	[0:8]R_ADDRARM64:…"
var instruction = regexp.MustCompile(`^\s+\S+:\d+\s+0x[0-9a-f]+\s+[0-9a-f]+\s+([A-Z]\S*)`)

// disassemble returns the instructions, without operands, of each function of testdata/site.
func disassemble(t *testing.T, arch, tags string) map[string][]string {
	t.Helper()
	archive, _ := goCommand(t, arch, "list", "-export", "-tags", tags, "-f", "{{.Export}}", "./testdata/site")
	listing, _ := goCommand(t, arch, "tool", "objdump", `-s=\.[A-Z]\w*$`, archive)
	functions := map[string][]string{}
	name := ""
	for line := range strings.Lines(listing) {
		if f, ok := strings.CutPrefix(line, "TEXT "); ok {
			f, _, _ = strings.Cut(f, "(SB)")
			name = f[strings.LastIndexByte(f, '.')+1:]
		} else if m := instruction.FindStringSubmatch(line); m != nil {
			functions[name] = append(functions[name], m[1])
		}
	}
	require.NotEmpty(t, functions["Absent"], "no such function in\n%s", listing)
	return functions
}

// guard returns the instructions in the middle of function that unguarded lacks. It compares
// the ends first, since a guard may begin with the instruction that follows it.
func guard(function, unguarded []string) string {
	if n := len(function); n > 1 && function[n-2] == "NOPL" {
		// Some functions with a pointer argument have a NOPL before their return, PointerByHand too.
		function = slices.Delete(slices.Clone(function), n-2, n-1)
	}
	tail := 0
	for tail < min(len(function), len(unguarded)) && function[len(function)-1-tail] == unguarded[len(unguarded)-1-tail] {
		tail++
	}
	head := len(unguarded) - tail
	if head > len(function)-tail || !slices.Equal(function[:head], unguarded[:head]) {
		return "not as expected: " + strings.Join(function, " ")
	}
	return strings.Join(function[head:len(function)-tail], " ")
}

// guard is tested by itself, since an error in it could let any site pass.
func TestGuardIsWhatTheUnguardedFunctionLacks(t *testing.T) {
	for function, want := range map[string]string{
		"INCQ INCQ RET":                   "",
		"INCQ MOVQ BTL JAE INCQ RET":      "MOVQ BTL JAE",
		"INCQ NOPL MOVQ BTL JAE INCQ RET": "NOPL MOVQ BTL JAE",
		"INCQ MOVQ INCQ NOPL RET":         "MOVQ",
		"PUSHQ INCQ CALL RET":             "not as expected: PUSHQ INCQ CALL RET",
		"INCQ RET":                        "not as expected: INCQ RET",
		"":                                "not as expected: ",
	} {
		assert.Equal(t, want, guard(strings.Fields(function), []string{"INCQ", "INCQ", "RET"}), function)
	}
}

// This pins that On inlines too: a call is not a load, a test and a branch. On arm64 ADRP and
// ADD form the address of a package-level word. Behind a pointer, the gate's padding costs an
// ADD there, since LDAR takes no offset, and Go tests the pointer with a MOVB.
func TestSiteCompilesToALoadATestAndABranch(t *testing.T) {
	for arch, sites := range map[string]map[string]string{
		"amd64": {"Constant": "MOVQ BTL JAE", "Registered": "MOVQ BTL JAE", "Pointer": "MOVQ BTL JAE", "Variable": "MOVQ TESTQ JE"},
		"arm64": {"Constant": "ADRP ADD LDAR TBZ", "Registered": "ADRP ADD LDAR TBZ", "Pointer": "MOVB ADD LDAR TBZ", "Variable": "ADRP ADD LDAR TST BEQ"},
	} {
		in, out := disassemble(t, arch, ""), disassemble(t, arch, "spangate_off")
		for site, want := range sites {
			assert.Equal(t, want, guard(in[site], in["Unguarded"]), "%s on %s", site, arch)
			byHand := strings.ReplaceAll(site, "Registered", "Constant") + "ByHand"
			assert.Equal(t, want, guard(in[byHand], in["Unguarded"]), "%s on %s", byHand, arch)
			assert.Equal(t, out["Absent"], out[site], "%s on %s, compiled out", site, arch)
		}
	}
}

// While no override may turn on the group, OnContext is a load and an OR more than On, written by
// hand too. It calls a function only if the bit is set in one of the two words.
func TestSiteCompilesWithAContextToALoadAndAnOrMore(t *testing.T) {
	for arch, want := range map[string]string{
		"amd64": "INCQ MOVQ MOVQ ORQ BTL JAE",
		"arm64": "ADRP MOVD ADD ADRP MOVD ADRP ADD LDAR ADRP ADD LDAR ORR TBZ",
	} {
		in, out := disassemble(t, arch, ""), disassemble(t, arch, "spangate_off")
		for _, site := range []string{"Context", "ContextByHand"} {
			assert.Contains(t, strings.Join(in[site], " "), " "+want+" ", "%s on %s", site, arch)
		}
		assert.Equal(t, out["Absent"], out["Context"], "on %s, compiled out", arch)
	}
}

// Callers expect these calls to cost nothing.
func TestInlining(t *testing.T) {
	_, report := goCommand(t, "amd64", "build", "-gcflags=-m", ".")
	for _, name := range []string{
		"Mask.HasAny", "Mask.HasAll", "Mask.With", "Mask.Without", "Mask.Count", "Mask.Bits",
		"(*Gate).On", "(*Gate).Load", "(*Gate).Store", "(*Gate).Swap", "(*Gate).CompareAndSwap",
		"(*Gate).Enable", "(*Gate).Disable", "(*Gate).OnContext", "(*Gate).Reach", "(*Gate).SetReach", "(*Catalog).All", "(*Catalog).Select", "Parse",
	} {
		assert.True(t, strings.Contains(report, ": can inline "+name+"\n"), "%s is not inlined", name)
	}
}

var sink spangate.Mask

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	gate := spangate.NewGate(spangate.PresetDefault)
	armed := spangate.NewGate(0)
	armed.SetReach(spangate.BitSandbox)
	overridden := spangate.ContextWithOverride(t.Context(), spangate.NewOverride(spangate.OverrideName{}, func(*spangate.Gate, spangate.Mask) bool { return true }))
	selection := spangate.Gym.Select(0)
	buf := make([]byte, 0, 256)
	for name, f := range map[string]func(){
		"On":        func() { _ = gate.On(spangate.BitRollout) },
		"OnContext": func() { _ = armed.OnContext(overridden, spangate.BitSandbox) },
		"Load":      func() { sink = gate.Load() },
		"Store":     func() { gate.Store(spangate.PresetAll) },
		"Swap":      func() { sink = gate.Swap(spangate.PresetAll) },
		"Enable":    func() { sink = gate.Enable(spangate.BitSandbox) },
		"Disable":   func() { sink = gate.Disable(spangate.BitSandbox) },
		"HasAny":    func() { _ = sink.HasAny(spangate.BitAgent) },
		"Bits": func() {
			for b := range spangate.PresetAll.Bits() {
				sink = b
			}
		},
		"Parse":           func() { sink, _ = spangate.Parse("default,sandbox") },
		"Parse folding":   func() { sink, _ = spangate.Parse(" Default , -SANDBOX,chec\u212Apoint ") },
		"Parse excluding": func() { sink, _ = spangate.Parse("all,-sandbox") },
		"Resolve":         func() { sink, _ = spangate.Gym.Resolve("all,-job") },
		"Lookup":          func() { sink, _ = spangate.Gym.Lookup("ROLLOUT") },
		"Group":           func() { _, _ = spangate.Gym.Group("ROLLOUT") },
		"Preset":          func() { _, _ = spangate.Gym.Preset("DEFAULT") },
		"Set":             func() { _ = selection.Set("per_rollout") },
		"AppendText":      func() { buf, _ = selection.AppendText(buf[:0]) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}
