package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	var j Journal
	lines, more := j.Since(0)
	assert.Equalf(t, len(lines), 0, "a new one has %v", lines)
	j.Add(Entry{Level: "info", Text: "one \x1b[2J\n"})
	<-more
	if lines, _ = j.Since(0); len(lines) != 1 || lines[0].Number != 1 || strings.ContainsAny(lines[0].Text, "\x1b\n") {
		t.Errorf("one line: %+v", lines)
	}
	if lines, _ = j.Since(1); len(lines) != 0 {
		t.Errorf("it is given twice: %+v", lines)
	}
	for i := range 3 * maxEntries {
		j.Add(Entry{Text: fmt.Sprint(i)})
	}
	lines, _ = j.Since(5)
	if len(lines) != maxEntries || lines[0].Number != 2*maxEntries+2 || lines[maxEntries-1].Number != 3*maxEntries+1 {
		t.Errorf("%d lines from %d", len(lines), lines[0].Number)
	}
	if lines, _ = j.Since(3 * maxEntries); len(lines) != 1 || lines[0].Text != fmt.Sprint(3*maxEntries-1) {
		t.Errorf("the last: %+v", lines)
	}
	if lines, _ = j.Since(1 << 40); len(lines) != 0 {
		t.Errorf("from the future: %d lines", len(lines))
	}
	for range 200 {
		j.Add(Entry{Text: strings.Repeat("x", 10<<10)})
	}
	size := 0
	lines, _ = j.Since(0)
	for _, l := range lines {
		size += len(l.Text)
	}
	if size > maxBytes || len(lines) < maxBytes/maxText/2 {
		t.Errorf("%d lines of %d bytes", len(lines), size)
	}
	(*Journal)(nil).Add(Entry{})
}
