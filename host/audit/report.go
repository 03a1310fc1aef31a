package audit

import (
	"fmt"
	"strings"
	"time"
)

// maxBreaks bounds how many breaks a report lists.
const maxBreaks = 100

// Report is what [Verify] found.
type Report struct {
	Path string `json:"path"`
	// Files and Lines count what was read; Lines are records only.
	Files int `json:"files"`
	Lines int `json:"lines"`
	// From and UpTo are the first line there is and the last line before the
	// first break: what is between them is as it was written. Whether lines
	// were cut off behind the last one, no line can tell; who keeps its hash in
	// another place can. Zero where there is none.
	From Mark `json:"from,omitzero"`
	UpTo Mark `json:"up_to,omitzero"`
	// Breaks are the places where the log is not as it was written: the first
	// 100 of BreakCount.
	Breaks     []Break `json:"breaks"`
	BreakCount int     `json:"break_count"`
	// Torn are pieces of lines that a crash left, and of which the next line
	// tells: no break, but what was to stand there was never written.
	Torn []Break `json:"torn,omitempty"`
}

// Mark is a line of a log.
type Mark struct {
	File string    `json:"file"`
	Line int       `json:"line"` // in the file, from 1
	Seq  uint64    `json:"seq"`  // in the log, from 1
	Time time.Time `json:"time"`
	Hash string    `json:"hash"`
}

// Whole reports whether nothing is wrong with the log.
func (r *Report) Whole() bool { return r.BreakCount == 0 }

// String is the report for people, without a newline at its end.
func (r *Report) String() string {
	var b strings.Builder
	for i := range r.Torn {
		fmt.Fprintf(&b, "%v\n", &r.Torn[i])
	}
	for i := range r.Breaks {
		fmt.Fprintf(&b, "%v\n", &r.Breaks[i])
	}
	if more := r.BreakCount - len(r.Breaks); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	if r.Whole() {
		fmt.Fprintf(&b, "%s in %s, ", count(r.Lines, "line"), count(r.Files, "file"))
	} else {
		fmt.Fprintf(&b, "%s in %s of %s, ", count(r.BreakCount, "break"), count(r.Lines, "line"), count(r.Files, "file"))
	}
	if r.UpTo.Seq == 0 {
		b.WriteString("nothing to go by")
		return b.String()
	}
	if r.From.Seq > 1 {
		fmt.Fprintf(&b, "from line %d on (what was before is no longer there), ", r.From.Seq)
	}
	fmt.Fprintf(&b, "whole up to line %d, %s\n", r.UpTo.Seq, r.UpTo.Time.Local().Format(time.DateTime))
	fmt.Fprintf(&b, "  its hash is %s\n", r.UpTo.Hash)
	b.WriteString("  lines that were cut off at the end leave no trace: keep the newest hash in another place and look for it here")
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
