package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// maxTorn bounds how many torn lines a report lists.
const maxTorn = 100

// Verify checks the chain through all files of a log: that each line is as it was
// written, after the line that it was written after. It stops at the first break. The
// package comment says what that shows and what not.
//
// Known are lines that have to be in the log, by their hashes. Lines of files that were deleted
// because they were too old or too many cannot be known.
//
// # Errors
//
// [fs.ErrNotExist] if there is no log; the context's error if it ends. A break is not an
// error but part of the report. It goes on behind a break that a later line accepts ([AcceptBreak]): between
// two lines that are whole, such as where lines are missing.
func Verify(ctx context.Context, path string, known ...Mark) (Report, error) {
	report, err := walkChain(ctx, path, nil, known)
	if err != nil || report.Break == nil || report.Break.Seq == 0 {
		return report, err
	}
	accepted := map[uint64]bool{}
	for e, err := range Search(ctx, path, Filter{Events: []string{Admin}}) {
		n, bad := strconv.ParseUint(e.Object, 10, 64)
		if err == nil && bad == nil && e.Action == AcceptBreak && e.Code == "" && e.Seq >= n {
			accepted[n] = true
		}
	}
	if !accepted[report.Break.Seq] {
		return report, ctx.Err()
	}
	return walkChain(ctx, path, accepted, known)
}

func walkChain(ctx context.Context, path string, accepted map[uint64]bool, known []Mark) (Report, error) {
	s, err := openSnapshot(ctx, path)
	if err != nil {
		return Report{Path: path}, err
	}
	defer s.close()
	v := verifier{
		report: Report{Path: s.path, Files: len(s.parts), headKnown: len(known) > 0}, snapshot: s,
		known: known, accepted: accepted, found: map[string]bool{}, open: map[string]bool{},
	}
	err = s.each(ctx, new(position), func(p *part, l *line) bool {
		v.report.Unverified++
		if v.report.Break == nil {
			v.report.Break = v.check(p, l)
		} else {
			v.lookForMissing(p, l)
		}
		return true
	})
	if err != nil {
		return v.report, err
	}
	v.end()
	return v.report, nil
}

// verifier walks along the chain.
type verifier struct {
	report       Report
	snapshot     *snapshot
	part         *part
	before, last verified
	// stray is a line that is not a record; nil: none. The next record tells whether a
	// crash left it.
	stray *stray
	// oldest is the number of the first line that was kept, by the newest record that says.
	oldest uint64
	// missing are the numbers that were skipped at the break; zero: none.
	missing struct{ from, to uint64 }
	known   []Mark // lines that have to be there
	// accepted are the numbers of the lines before which a break is known.
	accepted map[uint64]bool
	found    map[string]bool // their hashes that were found
	open     map[string]bool // calls that began, and have no end line so far
}

// verified is a line that is as it was written.
type verified struct {
	link
	file string
	line int
	text []byte
}

func (v *verified) mark() Mark {
	if v.seq == 0 {
		return Mark{}
	}
	var record struct{ Time time.Time }
	_ = json.Unmarshal(v.text, &record) // a forged line may have no time
	return Mark{v.file, v.line, v.seq, record.Time, v.hash.String()}
}

type stray struct {
	Break
	sum   sum
	ended bool
}

// check returns the break that a line shows; nil: it continues the chain.
func (v *verifier) check(p *part, l *line) *Break {
	absent := v.absentBefore(p)
	broken := func(kind Kind, format string, args ...any) *Break {
		return &Break{File: p.path, Line: l.number, Kind: kind, Text: fmt.Sprintf(format, args...)}
	}
	next, isRecord := parseLink(l.text)
	intact := isRecord && next.intact(l.text)
	switch {
	case l.endless:
		return broken(Edited, "%s", endlessText)
	case v.stray != nil && (!intact || next.torn == sum{}):
		return &v.stray.Break
	case !isRecord || !l.ended && !intact:
		v.stray = &stray{*broken(Edited, "this is not a record"), l.digest(), l.ended}
		return nil
	case !intact:
		return broken(Edited, "the text of line %d is not what its hash was made of", next.seq)
	case next.torn != sum{} && v.stray == nil:
		return broken(Missing, "the torn line that this one tells of is not there")
	case next.torn != sum{} && next.torn != v.stray.sum:
		v.stray.Text = "this is not the torn line that the next one tells of"
		return &v.stray.Break
	}
	want := v.last.seq + 1
	var b *Break
	distrusted := false // the last line
	switch {
	case v.last.seq == 0 && (next.seq == 1) != (next.prev == sum{}):
		return broken(Edited, "line %d was written after another one", next.seq)
	case v.last.seq == 0:
	case next.seq > want:
		b = broken(Missing, "%s missing before this one%s", numbered(want, next.seq-1), absent)
	case next.seq == v.last.seq:
		distrusted = next.hash != v.last.hash
		b = broken(Reordered, "line %d is there twice", next.seq)
	case next.seq < want:
		b = broken(Reordered, "line %d stands after line %d", next.seq, v.last.seq)
	case next.prev != v.last.hash:
		distrusted = true
		b = &Break{File: v.last.file, Line: v.last.line, Kind: Edited,
			Text: fmt.Sprintf("another line %d was here when line %d was written", v.last.seq, next.seq)}
	}
	if b != nil {
		if b.Seq = next.seq; !v.accepted[next.seq] {
			if distrusted {
				v.distrustLast()
			}
			if b.Kind == Missing {
				v.missing.from, v.missing.to = want, next.seq-1
			}
			return b
		}
		v.report.Accepted = append(v.report.Accepted, *b)
	}
	v.advance(p, l, next)
	return nil
}

// distrustLast takes the last line off the chain, as another line claims its place.
func (v *verifier) distrustLast() {
	v.last = v.before
	v.report.Lines--
	v.report.Unverified++
}

// advance makes a line the last one of the chain.
func (v *verifier) advance(p *part, l *line, next link) {
	if v.stray != nil {
		v.torn("a crash ended the write of this line, and the next one tells of it")
		v.stray = nil
	}
	spare := v.before.text[:0]
	v.before, v.last = v.last, verified{next, p.path, l.number, append(spare, l.text...)}
	v.oldest = max(v.oldest, next.oldest)
	v.report.Lines++
	v.report.Unverified--
	if v.report.Lines == 1 {
		v.report.From = v.last.mark()
	}
	for _, k := range v.known {
		same, ok := k.link()
		if !ok || same.hash != next.hash {
			continue
		}
		if v.found[k.Hash] = true; k.Seq == 0 {
			v.report.Found = append(v.report.Found, v.last.mark())
		}
	}
	switch event, call := eventOf(l.text); {
	case string(event) == Begin && len(v.open) < maxUnended:
		v.open[string(call)] = true
	case len(v.open) > 0:
		delete(v.open, string(call))
	}
}

// torn reports that the stray line is what a crash left.
func (v *verifier) torn(text string) {
	v.report.Unverified--
	if v.stray.Kind, v.stray.Text = Torn, text; len(v.report.Torn) < maxTorn {
		v.report.Torn = append(v.report.Torn, v.stray.Break)
	}
}

// lookForMissing finds one of the missing lines among those after the break.
func (v *verifier) lookForMissing(p *part, l *line) {
	if next, ok := parseLink(l.text); ok && v.missing.from <= next.seq && next.seq <= v.missing.to {
		b := v.report.Break
		b.Kind = Reordered
		b.Text = fmt.Sprintf("line %d stands after this one, at %s:%d", next.seq, p.path, l.number)
		v.missing.from, v.missing.to = 0, 0
	}
}

// end checks what only the whole log shows.
func (v *verifier) end() {
	v.report.UpTo = v.last.mark()
	v.report.Unended = len(v.open)
	if v.last.seq == 0 {
		v.report.From = Mark{}
	}
	if v.report.Break != nil {
		return
	}
	if v.stray != nil && v.stray.ended {
		v.report.Break = &v.stray.Break
		return
	}
	if v.stray != nil {
		v.torn("the last line has no end: a crash ended its write, or someone cut it; the next record will tell of it")
	}
	if from := v.report.From; from.Seq > max(1, v.oldest) {
		v.report.Break = &Break{
			File: from.File, Line: from.Line, Kind: Missing,
			Text: numbered(max(1, v.oldest), from.Seq-1) + " missing at the beginning of the log",
		}
	}
	for _, k := range v.known {
		if v.report.Break == nil {
			v.report.Break = v.lookFor(k)
		}
	}
}

// lookFor returns the break that shows if a line that is known is not in the log.
func (v *verifier) lookFor(k Mark) *Break {
	if v.found[k.Hash] {
		return nil
	}
	b := &Break{File: v.snapshot.path, Kind: Missing}
	when := k.Time.Local().Format(time.DateTime)
	if at := v.report.UpTo; at.Seq > 0 {
		b.File, b.Line = at.File, at.Line
	}
	switch {
	case k.Seq == 0:
		b.Text = "no line has the hash " + k.Hash + ": lines were cut off at the end, the log was made again, " +
			"or the file with the line was deleted because of its age"
	case k.Seq < v.report.From.Seq:
		return nil // it was deleted in good order
	case k.Seq <= v.last.seq:
		b.Kind, b.Text = Edited, fmt.Sprintf("line %d is not the line that was written at %s: the log was made again", k.Seq, when)
	default:
		b.Seq = k.Seq + 1
		b.Text = fmt.Sprintf("%s missing at the end: line %d was written at %s", numbered(v.last.seq+1, k.Seq), k.Seq, when)
	}
	return b
}

// absentBefore names the first file that should be between a line's file and the one of
// the line before; empty: none.
func (v *verifier) absentBefore(p *part) string {
	was := v.part
	v.part = p
	if was == nil || was == p || p.number == 0 || p.number == was.number+1 {
		return ""
	}
	return ", and the file " + filepath.Base(rotatedPath(v.snapshot.path, was.number+1))
}

// numbered names lines by their numbers, with the verb.
func numbered(from, to uint64) string {
	if from == to {
		return fmt.Sprintf("line %d is", from)
	}
	return fmt.Sprintf("lines %d to %d are", from, to)
}
