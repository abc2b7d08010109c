// SPDX-License-Identifier: Apache-2.0

package spangate_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
)

// goCommand runs the go command and returns what it prints.
func goCommand(t *testing.T, arch string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(cmd.Environ(), "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s: %s", strings.Join(args, " "), stderr.String())
	return strings.TrimSpace(string(out))
}

var instruction = regexp.MustCompile(`^\s+\S+:\d+\s+0x[0-9a-f]+\s+[0-9a-f]+\s+(\S+)`)

// sites returns the instructions of each function of testdata/site, by name. Operands are
// left out, and so is what pads code on amd64 without being run or costing anything.
func sites(t *testing.T, arch, tags string) map[string][]string {
	t.Helper()
	archive := goCommand(t, arch, "list", "-export", "-tags", tags, "-f", "{{.Export}}", "./testdata/site")
	asm := goCommand(t, arch, "tool", "objdump", archive)

	functions := map[string][]string{}
	name := ""
	for line := range strings.Lines(asm) {
		if f, ok := strings.CutPrefix(line, "TEXT "); ok {
			name, _, _ = strings.Cut(f, "(SB)")
			name = name[strings.LastIndexByte(name, '.')+1:]
			continue
		}
		// "  site.go:32	0x45c	90000000	ADRP 0(PC), R0	[0:8]R_ADDRARM64:…"
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if op := m[1]; !strings.HasPrefix(op, "NOPW") && !strings.HasPrefix(op, "NOPL") && op != "?" {
			functions[name] = append(functions[name], op)
		}
	}
	require.NotEmpty(t, functions["Bare"], "no such function in\n%s", asm)
	return functions
}

func TestSiteIsThreeInstructionsOnAMD64(t *testing.T) {
	f := sites(t, "amd64", "")
	assert.Len(t, f["Site"], len(f["Bare"])+3, "%v\nagainst %v", f["Site"], f["Bare"])
	assert.Subset(t, f["Site"], []string{"MOVQ", "BTL", "JAE"})
}

func TestSiteIsOneLoadAndOneTestOnARM64(t *testing.T) {
	f := sites(t, "arm64", "")
	assert.Subset(t, f["Site"], []string{"LDAR", "TBZ"})
	// ADRP and ADD form the address of any global.
	assert.Len(t, f["Site"], len(f["Bare"])+len([]string{"ADRP", "ADD", "LDAR", "TBZ"}), "%v\nagainst %v", f["Site"], f["Bare"])
}

func TestSiteIsWhatALoadAndAnANDByHandAre(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		f := sites(t, arch, "")
		assert.Equal(t, f["ByHand"], f["Site"], arch)
		assert.Equal(t, f["VariableByHand"], f["Variable"], arch)
	}
}

// Where nothing else is on the site's line the compiler marks the place of the inlined call
// with a no-operation, so that stack traces can name it; there is no more.
func TestSiteIsNothingWhenCompiledOut(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		f := sites(t, arch, "spangate_off")
		for _, site := range []string{"Site", "Variable"} {
			rest := slices.DeleteFunc(f[site], func(op string) bool { return op == "NOOP" })
			assert.Equal(t, f["Nothing"], rest, "%s on %s", site, arch)
		}
	}
}

// What a reader of the code takes to cost nothing is not to become a call.
func TestInlining(t *testing.T) {
	out := goCommand(t, "amd64", "build", "-gcflags=-m", ".")
	if out == "" { // -m writes to standard error
		cmd := exec.Command("go", "build", "-gcflags=-m", ".")
		b, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", b)
		out = string(b)
	}
	inlined := map[string]bool{}
	for _, m := range regexp.MustCompile(`: can inline (\S+)`).FindAllStringSubmatch(out, -1) {
		inlined[m[1]] = true
	}
	for _, name := range []string{
		"Mask.HasAny", "Mask.HasAll", "Mask.With", "Mask.Without", "Mask.Count", "Mask.Bits",
		"(*Gate).On", "(*Gate).Load", "(*Gate).Store", "(*Gate).Swap", "(*Gate).CompareAndSwap",
		"(*Gate).Enable", "(*Gate).Disable", "(*Catalog).All", "(*Catalog).Select", "Parse",
	} {
		assert.True(t, inlined[name], "%s is not inlined", name)
	}
}

var sink spangate.Mask

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	gate := spangate.NewGate(spangate.PresetDefault)
	selection := spangate.Gym.Select(0)
	buf := make([]byte, 0, 256)
	for name, f := range map[string]func(){
		"On":      func() { _ = gate.On(spangate.BitRollout) },
		"Load":    func() { sink = gate.Load() },
		"Store":   func() { gate.Store(spangate.PresetAll) },
		"Swap":    func() { sink = gate.Swap(spangate.PresetAll) },
		"Enable":  func() { sink = gate.Enable(spangate.BitSandbox) },
		"Disable": func() { sink = gate.Disable(spangate.BitSandbox) },
		"HasAny":  func() { _ = sink.HasAny(spangate.BitAgent) },
		"Bits": func() {
			for b := range spangate.PresetAll.Bits() {
				sink = b
			}
		},
		"Parse":         func() { sink, _ = spangate.Parse("default,sandbox") },
		"Parse folding": func() { sink, _ = spangate.Parse(" Default , -SANDBOX,chec\u212Apoint ") },
		"Resolve":       func() { sink, _ = spangate.Gym.Resolve("all,-job") },
		"Lookup":        func() { sink, _ = spangate.Gym.Lookup("ROLLOUT") },
		"Set":           func() { _ = selection.Set("per_rollout") },
		"AppendText":    func() { buf, _ = selection.AppendText(buf[:0]) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}
