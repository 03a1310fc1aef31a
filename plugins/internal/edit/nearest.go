package edit

import (
	"bytes"
	"fmt"
)

// Bounds of the search for a similar text.
const (
	maxCompared     = 4 << 20 // bytes of the file
	maxComparedLine = 400     // bytes of a line
	maxWanted       = 50      // lines of the text
	maxCandidates   = 200     // places where all of the text's lines are compared
	leastSimilarity = 0.6     // from 0 to 1
)

// nearest says which lines of the content are most similar to a text that it does not have;
// empty if none are. It does not show them: the caller may change the file and not read it.
//
// The longest line of the text is looked for, as it is the least likely to be anywhere;
// where a line is similar, the lines around it are compared too.
func nearest(content, text []byte) string {
	have := bytes.Split(content[:min(len(content), maxCompared)], []byte("\n"))
	lines := bytes.Split(bytes.Trim(text, "\r\n"), []byte("\n"))
	want := make([]profile, min(len(lines), maxWanted))
	anchor := 0
	for i := range want {
		if want[i] = newProfile(lines[i]); want[i].n > want[anchor].n {
			anchor = i
		}
	}
	best, start, candidates := 0.0, 0, 0
	for i := range have {
		if want[anchor].similarity(have[i]) < leastSimilarity {
			continue
		}
		if candidates++; candidates > maxCandidates {
			break
		}
		sum := 0.0
		for j, w := range want {
			if at := i - anchor + j; at >= 0 && at < len(have) {
				sum += w.similarity(have[at])
			}
		}
		if sum /= float64(len(want)); sum > best {
			best, start = sum, i-anchor
		}
	}
	if best < leastSimilarity {
		return ""
	}
	first, last := max(start, 0)+1, min(start+len(lines), len(have))
	where, verb := fmt.Sprintf("line %d", first), "differs"
	if last > first {
		where, verb = fmt.Sprintf("lines %d to %d", first, last), "differ"
	}
	if best == 1 && len(lines) <= maxWanted {
		return where + ", which " + verb + " in white space only"
	}
	return where
}

// profile is a line as it is compared: the pairs of its bytes, without white space.
type profile struct {
	pairs map[[2]byte]int
	n     int
}

func newProfile(line []byte) profile {
	p := profile{pairs: map[[2]byte]int{}}
	eachPair(line, func(pair [2]byte) { p.pairs[pair]++; p.n++ })
	return p
}

// similarity returns the Sørensen–Dice coefficient of two lines: from 0 for nothing in
// common to 1 for the same but for white space.
func (p profile) similarity(line []byte) float64 {
	seen := make(map[[2]byte]int, p.n)
	common, n := 0, 0
	eachPair(line, func(pair [2]byte) {
		n++
		if seen[pair]++; seen[pair] <= p.pairs[pair] {
			common++
		}
	})
	if p.n+n == 0 {
		return 1
	}
	return 2 * float64(common) / float64(p.n+n)
}

// eachPair calls f for each two neighbors of a line's bytes that are not white space. The
// first has a zero before it, so that a single byte counts.
func eachPair(line []byte, f func([2]byte)) {
	last := byte(0)
	for _, c := range line[:min(len(line), maxComparedLine)] {
		if c == ' ' || c == '\t' || c == '\r' {
			continue
		}
		f([2]byte{last, c})
		last = c
	}
}
