package audit

import (
	"fmt"
	"github.com/toolhost/toolhost/internal/remedy"
	"strings"
	"time"
)

// Report is what [Verify] found.
type Report struct {
	Path string `json:"path"`
	// Files counts the files of the log, and Lines the lines that are as they were written.
	Files int `json:"files"`
	Lines int `json:"lines"`
	// From and UpTo are the first and the last of these lines; zero: there is none.
	// Whether lines were cut off after the last one, no line can tell: compare its hash with
	// one that is kept in another place.
	From Mark `json:"from,omitzero"`
	UpTo Mark `json:"up_to,omitzero"`
	// Found are the lines with the hashes that were asked for.
	Found []Mark `json:"found,omitempty"`
	// Unended counts the calls that began and have no end line: they are in progress, or their
	// host was killed. It stops at 10,000.
	Unended int `json:"unended"`
	// Accepted are places where the log is not as it was written, and of which the operator said that this is
	// known, in an [AcceptBreak] line.
	Accepted []Break `json:"accepted,omitempty"`
	// Break is the first other place where the log is not as it was written; nil: there is none.
	Break *Break `json:"break,omitempty"`
	// Unverified counts the lines after UpTo, which were not verified, as the chain is
	// broken.
	Unverified int `json:"unverified"`
	// Torn are pieces of lines that a crash left, up to the break. They are not breaks, but
	// what was to stand there was never written.
	Torn []Break `json:"torn,omitempty"`

	headKnown bool // lines that were cut off at the end would show
}

// Mark is a line of a log.
type Mark struct {
	File string    `json:"file"`
	Line int       `json:"line,omitempty"` // in the file, from 1; 0: not known
	Seq  uint64    `json:"seq"`            // in the log, from 1; 0: not known
	Time time.Time `json:"time"`
	Hash string    `json:"hash"`
}

// String returns the report for people, without a newline at its end.
func (r Report) String() string {
	var b strings.Builder
	for i := range r.Torn {
		fmt.Fprintf(&b, "%v\n", &r.Torn[i])
	}
	for i := range r.Accepted {
		fmt.Fprintf(&b, "%v; accepted\n", &r.Accepted[i])
	}
	if r.Break != nil {
		fmt.Fprintf(&b, "%v\n", r.Break)
	}
	fmt.Fprintf(&b, "%s in %s, ", count(r.Lines, "line"), count(r.Files, "file"))
	switch {
	case r.UpTo.Seq == 0 && r.Unverified > 0:
		fmt.Fprintf(&b, "%s not verified", count(r.Unverified, "line"))
		return b.String()
	case r.UpTo.Seq == 0:
		b.WriteString("nothing to verify")
		return b.String()
	case r.From.Seq > 1:
		fmt.Fprintf(&b, "from line %d on (what was before is no longer there), ", r.From.Seq)
	}
	fmt.Fprintf(&b, "whole up to line %d, %s\n", r.UpTo.Seq, r.UpTo.Time.Local().Format(time.DateTime))
	fmt.Fprintf(&b, "  its hash is %s\n", r.UpTo.Hash)
	if r.Unverified > 0 {
		fmt.Fprintf(&b, "  after it, %s not verified\n", count(r.Unverified, "line"))
	}
	for _, m := range r.Found {
		fmt.Fprintf(&b, "  the hash that was expected is that of line %d, %s\n", m.Seq, m.Time.Local().Format(time.DateTime))
	}
	if r.Unended > 0 {
		fmt.Fprintf(&b, "  %s began and did not end: %s\n", count(r.Unended, "call"), remedy.AuditUnended)
	}
	if r.headKnown {
		return strings.TrimSuffix(b.String(), "\n")
	}
	b.WriteString("  lines that were cut off at the end can leave no trace: keep the newest hash in another place, " +
		"and " + remedy.AuditExpect.String())
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
