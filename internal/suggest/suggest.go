// Package suggest finds the names that a mistyped one may stand for. Start with [Nearest].
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// compared bounds how much of a name counts, in characters: the work is
// quadratic, and names come from strangers.
const compared = 64

// Nearest returns at most limit of the names that are like the given one, the most alike
// first: names that contain it or differ by a few letters, ignoring case.
func Nearest(name string, names []string, limit int) []string {
	type match struct {
		name string
		cost int
	}
	want := strings.ToLower(name)
	most := max(1, len(want)/3)
	var found []match
	for _, n := range names {
		if cost := likeness(want, strings.ToLower(n), most); cost <= most {
			found = append(found, match{n, cost})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.name, b.name))
	})
	out := make([]string, 0, limit)
	for _, m := range found[:min(len(found), limit)] {
		out = append(out, m.name)
	}
	return out
}

// likeness counts the typing errors between two names; a name inside the other counts as the
// most that is still alike.
func likeness(want, have string, most int) int {
	cost := most + 1
	if min(len(want), len(have)) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have)) {
		cost = most
	}
	if diff := len(have) - len(want); diff <= most && -diff <= most {
		cost = min(cost, Distance(want, have))
	}
	return cost
}

// Distance counts the characters to insert, delete, exchange or swap with their
// neighbour to make b of a (optimal string alignment). Only the first 64
// characters of each count.
func Distance(a, b string) int {
	from, to := characters(a), characters(b)
	before, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(from); i++ {
		row[0] = i
		for j := 1; j <= len(to); j++ {
			exchange := last[j-1]
			if from[i-1] != to[j-1] {
				exchange++
			}
			row[j] = min(row[j-1]+1, last[j]+1, exchange)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(to)]
}

func characters(s string) []rune {
	r := []rune(s[:min(len(s), 4*compared)])
	return r[:min(len(r), compared)]
}
