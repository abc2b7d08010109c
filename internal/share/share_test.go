// SPDX-License-Identifier: Apache-2.0

package share

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"
)

func TestTextOfShares(t *testing.T) {
	for text, want := range map[string]struct {
		share     float64
		canonical string
	}{
		"0.1%":                              {0.001, "0.1%"},
		"1/1000":                            {0.001, "0.1%"},
		"0.001":                             {0.001, "0.1%"},
		"00.10%":                            {0.001, "0.1%"},
		"100%":                              {1, "100%"},
		"1/1":                               {1, "100%"},
		"0.7%":                              {0.007, "0.7%"}, // 0.7/100 is another float64
		"7%":                                {0.07, "7%"},
		"12.5%":                             {0.125, "12.5%"},
		"1/3":                               {1.0 / 3, "33.33333333333333%"},
		"1/10000":                           {0.0001, "0.01%"},
		"0.99":                              {0.99, "99%"},
		"9007199254740991/9007199254740991": {1, "100%"},
		"0.0000000000000014%":               {1.4e-17, "0.0000000000000014%"},
	} {
		share, err := Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, want.share, share, text)
		assert.Equal(t, want.canonical, Format(share), text)
	}
}

func TestInvalidTextIsRefusedWithReason(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "write it as 0.1%, 1/1000 or 0.001",
		"%":                                  "write it as",
		" 1%":                                "write it as",
		"1 %":                                "write it as",
		"1%%":                                "write it as",
		"+1%":                                "write it as",
		"1e-3":                               "write it as",
		"0x1p-3":                             "write it as",
		".1%":                                "write it as",
		"1.%":                                "write it as",
		"0,1%":                               "write it as",
		"0.1.1%":                             "write it as",
		"1_0%":                               "write it as",
		"NaN":                                "write it as",
		"inf":                                "write it as",
		"1‰":                                 "write it as",
		"١%":                                 "write it as",
		"1/2/3":                              "write it as",
		"1/":                                 "write it as",
		"/2":                                 "write it as",
		"-1/2":                               "write it as",
		"1/2%":                               "write it as",
		"0.5/2":                              "write it as",
		"1/0":                                "it divides by 0",
		"0/0":                                "it divides by 0",
		"1/9007199254740992":                 "a number of a fraction is below 2^53",
		"9007199254740993/1":                 "a number of a fraction is below 2^53",
		"0":                                  "no trace is in it",
		"0%":                                 "no trace is in it",
		"0/5":                                "no trace is in it",
		"-1%":                                "write it as",
		"1":                                  "a share without % is below 1; write 1% if that many percent are meant, and 100% for all traces",
		"10":                                 "a share without % is below 1; write 10% if",
		"1.0":                                "a share without % is below 1; write 1.0% if",
		"101%":                               "it is more than all traces; the most is 100%",
		"100.0000000000001%":                 "it is more than all traces",
		"3/2":                                "it is more than all traces",
		"0.000000000000001%":                 "it is too small; the smallest is 2^-56, 0.0000000000000013877787807814457%",
		strings.Repeat("9", 64):              "a share without % is below 1; write 9999999999999999999999999999999999999999999999999999999999999999% if that many percent are meant",
		strings.Repeat("9", 65):              "it has 65 bytes, at most 64 are allowed",
		strings.Repeat("x", 1e6):             "it has 1000000 bytes, at most 64 are allowed",
		"\x1b[31m" + "\xff\n1%":              "write it as",
		"0." + strings.Repeat("0", 61) + "1": "it is too small",
	} {
		share, err := Parse(text)
		require.Error(t, err, "%.80q", text)
		assert.Zero(t, share)
		assert.Contains(t, err.Error(), " is no share of traces: "+want, "%.80q", text)
		assert.True(t, strings.HasPrefix(err.Error(), `"`), "%.80q", text)
		assert.Less(t, len(err.Error()), 300, "%.80q", text)
		assert.Equal(t, -1, strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' }), "%q", err)
	}
}

func TestInvalidSharesOfCodeAreRefused(t *testing.T) {
	for share, want := range map[float64]string{
		0:                           "no trace is in it",
		math.Copysign(0, -1):        "no trace is in it",
		-0.1:                        "below 0",
		math.Inf(-1):                "below 0",
		math.Nextafter(1, 2):        "more than all traces",
		math.Inf(1):                 "more than all traces",
		math.Nextafter(Smallest, 0): "too small",
		math.SmallestNonzeroFloat64: "too small",
		math.NaN():                  "not a number",
	} {
		assert.ErrorContains(t, Check(share), want, "%g", share)
	}
	for _, share := range []float64{Smallest, 0.5, 1} {
		assert.NoError(t, Check(share))
	}
}

// validShare draws shares of all magnitudes.
func validShare() *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		return math.Ldexp(1-rapid.Float64Range(0, 0.5).Draw(t, "fraction"), -rapid.IntRange(0, 55).Draw(t, "halvings"))
	})
}

func TestEveryShareIsReadBackFromItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := validShare().Draw(t, "share")
		text := Format(share)
		again, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, share, again, text)
		require.LessOrEqual(t, len(text), maxTextLen)
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0.1%", "1/1000", "0.001", "1", "1/010", "1/0", "1e-3", "0.0.1", "%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		share, err := Parse(text)
		if err != nil {
			return
		}
		if err := Check(share); err != nil {
			t.Fatalf("%q is read as %g: %v", text, share, err)
		}
		// big.Rat reads the same texts, exactly, but a 0 before the numbers of a fraction means octal there.
		number, percent := strings.CutSuffix(text, "%")
		if part, whole, fraction := strings.Cut(text, "/"); fraction {
			number = strings.TrimLeft(part, "0") + "/" + strings.TrimLeft(whole, "0")
		}
		exact, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatalf("%q is read as %g", text, share)
		}
		if percent {
			exact.Mul(exact, big.NewRat(1, 100))
		}
		if nearest, _ := exact.Float64(); nearest != share {
			t.Fatalf("%q is read as %g, the nearest is %g", text, share, nearest)
		}
		if again, err := Parse(Format(share)); again != share {
			t.Fatalf("%q is written as %q and read back as %g, %v", text, Format(share), again, err)
		}
	})
}

func TestThresholds(t *testing.T) {
	for share, want := range map[float64]Threshold{
		1:                    0,
		2:                    0,
		math.Inf(1):          0,
		0.5:                  0x80000000000000,
		0.25:                 0xc0000000000000,
		0.01:                 0xfd70a3d70a3d71,
		0.001:                0xffbe76c8b43958,
		math.Nextafter(1, 0): 8,
		Smallest:             all - 1,
		2.5 * Smallest:       all - 3,
		1.5 * Smallest:       all - 2,
		1.49 * Smallest:      all - 1,
		0.49 * Smallest:      all,
		0:                    all,
		-1:                   all,
		math.Inf(-1):         all,
		math.NaN():           all,
	} {
		assert.Equal(t, want, ThresholdOf(share), "%g", share)
	}
	assert.True(t, Threshold(0).Has(0), "all traces")
	assert.True(t, Threshold(5).Has(5))
	assert.False(t, Threshold(5).Has(4))
	assert.False(t, Threshold(all).Has(all-1), "no trace")
}

func TestRandomness(t *testing.T) {
	id := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 0xf0}
	const low = 0xfafbfcfdfefff0
	for ot, want := range map[string]uint64{
		"":                                  low,
		"th:c":                              low,
		"rv:00000000000001":                 1,
		"rv:ffffffffffffff":                 all - 1,
		"th:0;rv:0123456789abcd":            0x0123456789abcd,
		"rv:0123456789abcd;th:0":            0x0123456789abcd,
		"rv:0123456789ABCD":                 low, // the specification has lower case only
		"rv:0123456789abc":                  low,
		"rv:0123456789abcde":                low,
		"rv:+123456789abcd":                 low,
		"rv:0_23456789abcd":                 low,
		"rv:0x23456789abcd":                 low,
		"rv:":                               low,
		"rv":                                low,
		"arv:0123456789abcd":                low,
		"RV:0123456789abcd":                 low,
		" rv:0123456789abcd":                low,
		"x:rv:0123456789abcd":               low,
		"rv:é123456789abc":                  low,
		";;;":                               low,
		strings.Repeat("rv:;", 64):          low,
		"rv:0123456789abcd;rv:aaaaaaaaaaaa": 0x0123456789abcd,
	} {
		assert.Equal(t, want, Randomness(id, ot), "%q", ot)
	}
	allocs := testing.AllocsPerRun(100, func() { Randomness(id, "th:fd70a;rv:0123456789abcd") })
	assert.Zero(t, allocs)
}

// randomIDs calls f with n trace IDs, always the same ones.
func randomIDs(n int, f func(id [16]byte)) {
	source := rand.NewChaCha8([32]byte{'s', 'h', 'a', 'r', 'e'})
	var id [16]byte
	for range n {
		_, _ = source.Read(id[:])
		f(id)
	}
}

const million = 1_000_000

func TestRateOfAMillionTracesIsWithinTheBinomialBounds(t *testing.T) {
	all := make([]uint64, 0, million)
	randomIDs(million, func(id [16]byte) { all = append(all, Randomness(id, "")) })
	for _, share := range []float64{0.0001, 0.001, 0.01, 0.1, 1.0 / 3, 0.5, 0.99} {
		in, threshold := 0, ThresholdOf(share)
		for _, r := range all {
			if threshold.Has(r) {
				in++
			}
		}
		low, high := binomialBounds(million, share, 1e-6)
		assert.True(t, low <= in && in <= high, "%s: %d traces, not from %d to %d", Format(share), in, low, high)
	}
}

// binomialBounds returns the numbers of successes in n trials of probability p below which and
// above which there are fewer or more with probability at most tail. It sums the distribution itself,
// from 12 standard deviations off the mean: what is further off weighs less than 1e-20.
func binomialBounds(n int, p, tail float64) (low, high int) {
	logOf := func(k int) float64 {
		all, _ := math.Lgamma(float64(n + 1))
		in, _ := math.Lgamma(float64(k + 1))
		out, _ := math.Lgamma(float64(n - k + 1))
		return all - in - out + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
	}
	mean, far := float64(n)*p, 12*math.Sqrt(float64(n)*p*(1-p))
	low, high = max(0, int(mean-far)), min(n, int(mean+far)+1)
	for sum := 0.0; ; low++ {
		if sum += math.Exp(logOf(low)); sum > tail {
			break
		}
	}
	for sum := 0.0; ; high-- {
		if sum += math.Exp(logOf(high)); sum > tail {
			return low, high
		}
	}
}

func TestBinomialBoundsOfASmallDistribution(t *testing.T) {
	// Of ten trials at 1/2, P(0) is 1/1024, P(1) 10/1024 and P(2) 45/1024.
	for tail, want := range map[float64][2]int{0.0009: {0, 10}, 0.0011: {1, 9}, 0.0108: {2, 8}, 0.054: {2, 8}, 0.056: {3, 7}} {
		low, high := binomialBounds(10, 0.5, tail)
		assert.Equal(t, want, [2]int{low, high}, "%g", tail)
	}
}

func TestTracesOfAShareAreInEveryLargerOne(t *testing.T) {
	shares := []float64{Smallest, 0.0001, 0.001, 0.01, 0.1, 0.5, 1}
	for i, small := range shares[:len(shares)-1] {
		assert.Greater(t, ThresholdOf(small), ThresholdOf(shares[i+1]))
	}
	one, tenth := ThresholdOf(0.01), ThresholdOf(0.001)
	in := 0
	randomIDs(million, func(id [16]byte) {
		if r := Randomness(id, ""); tenth.Has(r) {
			in++
			assert.True(t, one.Has(r), "%x", id)
		}
	})
	assert.Positive(t, in)

	rapid.Check(t, func(t *rapid.T) {
		a, b := validShare().Draw(t, "a"), validShare().Draw(t, "b")
		r := rapid.Uint64Range(0, all-1).Draw(t, "randomness")
		if ThresholdOf(min(a, b)).Has(r) {
			require.True(t, ThresholdOf(max(a, b)).Has(r))
		}
	})
}

// TraceIDRatioBased keeps an ID if its low 64 bits are below a bound, so a rate below 1/256 keeps
// none whose low 56 bits are high. Such a rate and a small share have no trace in common.
func TestShareOfTheTracesThatTraceIDRatioBasedKeeps(t *testing.T) {
	ids := make([]trace.TraceID, 0, million)
	randomIDs(million, func(id [16]byte) { ids = append(ids, id) })
	for rate, share := range map[float64]float64{
		0.5:   0.01,
		0.1:   0.01 * 25 / 25.6, // of 256 values of the highest byte, 25 keep all, and one low values only
		0.01:  0.01 * 2 / 2.56,
		0.001: 0,
	} {
		sampler, threshold := sdktrace.TraceIDRatioBased(rate), ThresholdOf(0.01)
		kept, in := 0, 0
		for _, id := range ids {
			p := sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}
			if sampler.ShouldSample(p).Decision == sdktrace.RecordAndSample {
				kept++
				if threshold.Has(Randomness(id, "")) {
					in++
				}
			}
		}
		low, high := binomialBounds(million, rate, 1e-6)
		assert.True(t, low <= kept && kept <= high, "%g: %d kept", rate, kept)
		if share == 0 {
			assert.Zero(t, in)
			continue
		}
		low, high = binomialBounds(kept, share, 1e-6)
		assert.True(t, low <= in && in <= high, "%g: %d of %d, not from %d to %d", rate, in, kept, low, high)
	}
}

// vector is a case of testdata/vectors.json.
type vector struct {
	Share     string `json:"share"`
	Threshold string `json:"threshold"`
	Traces    []struct {
		ID         string `json:"id"`
		OT         string `json:"ot"`
		Randomness string `json:"randomness"`
		In         bool   `json:"in"`
	} `json:"traces"`
}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	hex56 := func(v uint64) string { return fmt.Sprintf("%014x", v) }
	for _, v := range vectors {
		share, err := Parse(v.Share)
		require.NoError(t, err)
		threshold := ThresholdOf(share)
		assert.Equal(t, v.Threshold, hex56(uint64(threshold)), v.Share)
		for _, tr := range v.Traces {
			var id [16]byte
			_, err := hex.Decode(id[:], []byte(tr.ID))
			require.NoError(t, err)
			r := Randomness(id, tr.OT)
			assert.Equal(t, tr.Randomness, hex56(r), "%s %q", tr.ID, tr.OT)
			assert.Equal(t, tr.In, threshold.Has(r), "%s of %s %q", v.Share, tr.ID, tr.OT)
		}
	}
}

// The Python program has the rule in Python's own numbers, independently of this package.
func TestPythonMakesTheSameVectors(t *testing.T) {
	python, err := exec.LookPath("python3")
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd := exec.Command(python, "testdata/vectors.py")
	cmd.Stderr = &stderr
	made, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	committed, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	assert.Equal(t, string(committed), string(made), "python3 testdata/vectors.py >testdata/vectors.json")
}
