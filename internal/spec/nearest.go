// SPDX-License-Identifier: Apache-2.0

package spec

// MaxSuggested is how many of the unknown names of a spec get a suggestion, since to look for one
// takes time in proportion to the candidates.
const MaxSuggested = 64

// maxEdits is how many edits apart a name and its suggestion may be.
const maxEdits = 3

// Nearest returns the candidate that is the fewest edits away from name, in any case; the first one
// if several are. It returns "" if none is within a third of name's length and maxEdits.
func Nearest(name string, candidates []string) string {
	if len(name) > len("\u212A")*MaxNameLen {
		return ""
	}
	var buf [MaxNameLen]byte
	if folded, ok := Fold(&buf, name); ok {
		name = string(folded)
	}
	best, limit := "", min(maxEdits, (len(name)+1)/3)
	for _, candidate := range candidates {
		if d := edits(name, candidate, limit); d <= limit {
			best, limit = candidate, d-1
		}
	}
	return best
}

// edits returns the optimal string alignment distance of a and b: how many insertions, deletions
// and replacements of a byte and swaps of neighbours lead from a to b, each byte being part of at
// most one. Beyond limit it returns any number over limit. Only cells of the table within limit of
// the diagonal matter, so the time is in proportion to len(a)*limit.
func edits(a, b string, limit int) int {
	if len(b) > MaxNameLen || max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	// The last three rows of the table of distances between the first i bytes of a and the
	// first j bytes of b.
	var rows [3][MaxNameLen + 1]int
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev2, prev, row := &rows[(i+1)%3], &rows[(i+2)%3], &rows[i%3]
		lo, hi := max(1, i-limit), min(len(b), i+limit)
		row[lo-1] = limit + 1
		if lo == 1 {
			row[0] = i
		}
		for j := lo; j <= hi; j++ {
			d := prev[j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, row[j-1]+1)
			if j < i+limit { // the cell above is within limit of the diagonal
				d = min(d, prev[j]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			row[j] = d
		}
	}
	return rows[len(a)%3][len(b)]
}
