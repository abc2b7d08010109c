// SPDX-License-Identifier: Apache-2.0

// Package share has the rule by which a trace belongs to a share of all traces, and the text of
// shares.
//
// The rule is that of OpenTelemetry's probability sampling, by the trace's own randomness: see
// [Randomness] and [ThresholdOf]. So processes agree on a trace without communication, in any language,
// and the traces of a share are among those of every larger one. A sampler that follows
// the same specification agrees too: the traces that it keeps at 1 % are those in a share of
// 1 %, but for the rounding of its threshold.
//
// OpenTelemetry's TraceIDRatioBased keeps low values where a share has high ones, and reads 8 bits
// more. At rates above 1/256 the two are nearly independent; below, it drops every trace of a small
// share. A program that has it needs SampleOverridden of package otelsdk.
package share

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// all is the number of values that the randomness of a trace can have.
const all = 1 << 56

// Smallest is the smallest share: one value of the randomness.
const Smallest = 1.0 / all

// maxTextLen is the length in bytes of the longest text that [Parse] reads. Every text of [Format]
// is shorter.
const maxTextLen = 64

// Randomness returns the 56-bit randomness of a trace: rv in ot, which is the value of the member
// "ot" of the trace's tracestate, or "" if there is none; without a valid rv, the low 56 bits of the trace
// ID. Those are random if the ID has W3C's random flag. Many IDs without it are random as well; for
// others, a share is as good as the ID's low bits.
func Randomness(id [16]byte, ot string) uint64 {
	for field := range strings.SplitSeq(ot, ";") {
		// The specification demands lower case.
		if rv, found := strings.CutPrefix(field, "rv:"); found && len(rv) == 14 && strings.ToLower(rv) == rv {
			if r, err := strconv.ParseUint(rv, 16, 56); err == nil {
				return r
			}
		}
	}
	return binary.BigEndian.Uint64(id[8:]) & (all - 1)
}

// Threshold is the lowest randomness of the traces that are in a share. The zero value has all
// traces in it.
type Threshold uint64

// ThresholdOf returns the threshold of a share: 2^56 less share·2^56, which is rounded to the nearest
// integer, halves up. No trace is in a share below 2^-57 or in NaN; all are in one of 1 and
// above.
func ThresholdOf(share float64) Threshold {
	kept := math.Round(share * all)
	if !(kept > 0) { // NaN too
		return all
	}
	return all - Threshold(min(kept, all)) // exact, as a difference of float64 is not
}

// Has reports whether a trace with this randomness is in the share.
func (t Threshold) Has(randomness uint64) bool { return randomness >= uint64(t) }

// Check returns an error unless share is valid: from [Smallest] to 1.
func Check(share float64) error {
	switch {
	case share > 1:
		return errors.New("it is more than all traces; the most is 100%")
	case share == 0:
		return errors.New("no trace is in it; write a share above 0")
	case share < 0:
		return errors.New("it is below 0")
	case share < Smallest:
		return errors.New("it is too small; the smallest is 2^-56, " + Format(Smallest))
	case share != share:
		return errors.New("it is not a number")
	}
	return nil
}

// form is the end of the message of a syntax error.
const form = "write it as 0.1%, 1/1000 or 0.001"

// Parse returns the share that text stands for, as the nearest float64:
//
//	share  = number "%" | number | digits "/" digits
//	number = digits [ "." digits ]
//
// There is no space, sign or exponent. A number without % is below 1, since 1 may be meant as one
// percent. Some texts:
//
//	0.1%       one trace in a thousand, as are 1/1000 and 0.001
//	100%       all traces, as is 1/1
//	1          refused
//	0, 150%    refused, see [Check]
//
// The error begins with the text, quoted.
func Parse(text string) (float64, error) {
	share, err := parse(text)
	if err == nil {
		err = Check(share)
	}
	if err != nil {
		return 0, fmt.Errorf("%.64q is no share of traces: %w", text, err)
	}
	return share, nil
}

func parse(text string) (float64, error) {
	if len(text) > maxTextLen {
		return 0, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxTextLen)
	}
	if part, whole, found := strings.Cut(text, "/"); found {
		// Up to 2^53, so that float64 has both and the quotient is the nearest to theirs.
		n, err1 := strconv.ParseUint(part, 10, 53)
		d, err2 := strconv.ParseUint(whole, 10, 53)
		switch {
		case errors.Is(err1, strconv.ErrRange) || errors.Is(err2, strconv.ErrRange):
			return 0, errors.New("a number of a fraction is below 2^53")
		case err1 != nil || err2 != nil:
			return 0, errors.New(form)
		case d == 0:
			return 0, errors.New("it divides by 0")
		}
		return float64(n) / float64(d), nil
	}
	number, percent := strings.CutSuffix(text, "%")
	whole, decimals, point := strings.Cut(number, ".")
	if !isDigits(whole) || point && !isDigits(decimals) {
		return 0, errors.New(form)
	}
	if percent {
		number += "e-2" // not /100, which would round twice
	}
	share, err := strconv.ParseFloat(number, 64)
	if err == nil && !percent && share >= 1 {
		err = fmt.Errorf("a share without %% is below 1; write %s%% if that many percent are meant, and 100%% for all traces", number)
	}
	return share, err
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Format returns the canonical text of a valid share: in percent, with the fewest digits from which
// [Parse] returns the same share, as in 0.1%.
func Format(share float64) string {
	whole, decimals, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	for len(decimals) < 2 {
		decimals += "0"
	}
	whole, decimals = strings.TrimLeft(whole+decimals[:2], "0"), decimals[2:]
	if whole == "" {
		whole = "0"
	}
	if decimals != "" {
		decimals = "." + decimals
	}
	return whole + decimals + "%"
}
