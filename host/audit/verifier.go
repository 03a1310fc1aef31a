package audit

import (
	"encoding/json"
	"fmt"
	"time"
)

// place is where a line stands.
type place struct {
	file string
	line int
}

// verifier walks along the chain. Of lines with the numbers 1, 2 it expects 3,
// and keeps the highest: what comes too late is out of order, and the chain goes
// on from where it was.
type verifier struct {
	report Report
	absent string // the file that is missing before this line; empty: none

	last   link  // the line with the highest number
	at     place // of it
	text   []byte
	rival  sum  // another line with the same number: one of both was inserted
	edited bool // its hash is not to be relied on

	strange    int   // lines since that are no records
	strangeAt  place // the first of them
	newest     place // the last of them,
	newestSum  sum   // its hash,
	unfinished bool  // and whether it has no newline

	begin  uint64 // the number of the first line, or of what is in its place
	early  uint64 // how many lines came later that belong before it
	oldest uint64 // the newest word of the log on where it should begin
	gaps   []gap
}

// gap is a run of numbers that did not come when they were expected.
type gap struct {
	from, to uint64
	found    uint64 // how many of them came later
	foundAt  place  // the first
	index    int    // of its break in the report
}

// broken notes a break. It returns its place in the report; below zero where
// there were too many.
func (v *verifier) broken(at place, kind Kind, format string, args ...any) int {
	v.report.BreakCount++
	if v.report.BreakCount == 1 {
		v.markUpTo()
	}
	if len(v.report.Breaks) == maxBreaks {
		return -1
	}
	v.report.Breaks = append(v.report.Breaks, Break{at.file, at.line, kind, fmt.Sprintf(format, args...)})
	return len(v.report.Breaks) - 1
}

// markUpTo takes the last line for the end of what is whole.
func (v *verifier) markUpTo() {
	if v.text != nil {
		v.report.UpTo = v.mark()
	}
}

func (v *verifier) mark() Mark {
	var at struct{ Time time.Time }
	_ = json.Unmarshal(v.text, &at) // an edited line may have none
	return Mark{v.at.file, v.at.line, v.last.seq, at.Time, v.last.hash.String()}
}

func (v *verifier) read(at place, l *line) {
	if l.endless {
		v.broken(at, Edited, "%s", endlessText)
		return
	}
	next, ok := parseLink(l.text)
	intact := ok && next.intact(l.text)
	if !ok || !l.ended && !intact {
		if v.strange++; v.strange == 1 {
			v.strangeAt = at
		}
		v.newest, v.newestSum, v.unfinished = at, l.digest(), !l.ended
		return
	}
	v.report.Lines++
	if !intact {
		v.tampered(at, next, l.text)
		return
	}
	v.oldest = max(v.oldest, next.oldest)
	v.recorded(at, next)
	if v.begin == 0 {
		v.first(at, next)
	} else if !v.explained(next) && !v.follows(at, next) {
		return
	}
	v.advance(at, next, l.text)
}

// advance makes a line the last one.
func (v *verifier) advance(at place, next link, text []byte) {
	v.last, v.at, v.edited, v.rival, v.strange = next, at, false, sum{}, 0
	v.text = append(v.text[:0], text...)
	if v.report.From.Seq == 0 {
		v.report.From = v.mark()
	}
}

// recorded holds a torn line against the note that was taken of it.
func (v *verifier) recorded(at place, next link) {
	switch {
	case next.torn == (sum{}):
		return
	case v.strange == 0:
		v.broken(at, Missing, "the torn line that this one tells of is not there")
		return
	case v.newestSum != next.torn:
		v.broken(v.newest, Edited, "this is not the torn line that the next one tells of")
	case len(v.report.Torn) < maxBreaks:
		v.report.Torn = append(v.report.Torn, Break{v.newest.file, v.newest.line, Torn, "a crash ended the write of this line, and the next one tells of it"})
	}
	v.strange--
}

// first begins the chain.
func (v *verifier) first(at place, next link) {
	v.begin = next.seq - min(uint64(v.strange), next.seq-1)
	if v.strange > 0 {
		v.broken(v.strangeAt, Edited, "%s no record", areLines(v.strange))
	}
	if (next.seq == 1) != (next.prev == sum{}) {
		v.broken(at, Edited, "line %d was written behind another one", next.seq)
	}
}

// explained judges lines that are no records by the line behind them. True: it
// stands where it should, and nothing more is to be said of it.
func (v *verifier) explained(next link) bool {
	n := v.strange
	if n == 0 {
		return false
	}
	v.strange = 0
	if next.seq == v.last.seq+1 && v.chained(next) {
		v.broken(v.strangeAt, Inserted, "%s no record, and no line is missing", areLines(n))
		return true
	}
	v.broken(v.strangeAt, Edited, "%s no record", areLines(n))
	return next.seq == v.last.seq+1+uint64(n)
}

func areLines(n int) string {
	if n == 1 {
		return "this is"
	}
	return fmt.Sprintf("these %d lines are", n)
}

func (v *verifier) chained(next link) bool {
	return next.prev == v.last.hash || v.rival != (sum{}) && next.prev == v.rival
}

// follows judges a line that is as it was written by its place. False: it
// belongs to another one.
func (v *verifier) follows(at place, next link) bool {
	switch want := v.last.seq + 1; {
	case next.seq == want:
		if !v.edited && !v.chained(next) {
			v.broken(v.at, Edited, "another line %d was here when line %d was written", v.last.seq, next.seq)
		}
	case next.seq > want:
		text := numbered(want, next.seq-1, "is", "are") + " missing before this one"
		if v.absent != "" {
			text += ", and the file " + v.absent
		}
		if i := v.broken(at, Missing, "%s", text); i >= 0 {
			v.gaps = append(v.gaps, gap{from: want, to: next.seq - 1, index: i})
		}
	default:
		v.misplaced(at, next)
		return false
	}
	return true
}

// misplaced is for a line whose number has passed.
func (v *verifier) misplaced(at place, next link) {
	for i := range v.gaps {
		if g := &v.gaps[i]; g.from <= next.seq && next.seq <= g.to {
			if g.found++; g.found == 1 {
				g.foundAt = at
			}
			return
		}
	}
	if next.seq < v.begin {
		v.early++
		v.broken(at, Reordered, "line %d stands behind line %d", next.seq, v.last.seq)
		return
	}
	v.broken(at, Inserted, "line %d was there already", next.seq)
	if next.seq == v.last.seq {
		v.rival = next.hash
	}
}

// tampered is for a line whose text does not fit its hash. It is taken for the
// one that was expected.
func (v *verifier) tampered(at place, next link, text []byte) {
	if v.strange > 0 {
		v.broken(v.strangeAt, Edited, "%s no record", areLines(v.strange))
	}
	v.broken(at, Edited, "the text of line %d is not what its hash was made of", next.seq)
	if v.begin == 0 {
		v.begin = next.seq
	} else {
		next.seq = v.last.seq + 1 + uint64(v.strange)
	}
	v.advance(at, next, text)
	v.edited = true
}

// end judges what only the whole log shows.
func (v *verifier) end() {
	if v.strange > 0 {
		if v.unfinished {
			v.strange--
		}
		if v.strange > 0 {
			v.broken(v.strangeAt, Edited, "%s no record", areLines(v.strange))
		}
		if v.unfinished {
			v.broken(v.newest, Torn, "the last line has no end: a crash ended its write, or somebody cut it; the next record will tell of it")
		}
	}
	for _, g := range v.gaps {
		if g.found == 0 {
			continue
		}
		b := &v.report.Breaks[g.index]
		b.Kind = Reordered
		b.Text = numbered(g.from, g.to, "stands", "stand") + " behind this one, at " + fmt.Sprintf("%s:%d", g.foundAt.file, g.foundAt.line)
		if rest := g.to - g.from + 1; g.found < rest {
			b.Kind = Missing
			b.Text = fmt.Sprintf("of %s before this one %d missing, the others stand behind it", numbered(g.from, g.to, "", ""), rest-g.found)
		}
	}
	if v.report.BreakCount == 0 {
		v.markUpTo()
	}
	if v.begin > max(1, v.oldest)+v.early {
		v.missingHead()
	}
}

// missingHead is for a log that begins later than it says itself.
func (v *verifier) missingHead() {
	v.report.BreakCount++
	b := Break{v.report.From.File, 1, Missing, numbered(max(1, v.oldest), v.begin-1, "is", "are") + " missing at the beginning of the log"}
	v.report.Breaks = append([]Break{b}, v.report.Breaks[:min(len(v.report.Breaks), maxBreaks-1)]...)
}

// numbered names lines by their numbers.
func numbered(from, to uint64, is, are string) string {
	text, verb := fmt.Sprintf("lines %d to %d", from, to), are
	if from == to {
		text, verb = fmt.Sprintf("line %d", from), is
	}
	if verb != "" {
		text += " " + verb
	}
	return text
}
