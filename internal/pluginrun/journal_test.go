package pluginrun

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
)

func TestJournal(t *testing.T) {
	t.Parallel()
	var j Journal
	lines, more := j.Since(0)
	if len(lines) != 0 {
		t.Errorf("a new one has %v", lines)
	}
	j.add(plugin.Line{Level: "info", Text: "one \x1b[2J\n"})
	<-more
	if lines, _ = j.Since(0); len(lines) != 1 || lines[0].Number != 1 || strings.ContainsAny(lines[0].Text, "\x1b\n") {
		t.Errorf("one line: %+v", lines)
	}
	if lines, _ = j.Since(1); len(lines) != 0 {
		t.Errorf("it is given twice: %+v", lines)
	}
	for i := range 3 * journalLines {
		j.add(plugin.Line{Text: fmt.Sprint(i)})
	}
	lines, _ = j.Since(5)
	if len(lines) != journalLines || lines[0].Number != 2*journalLines+2 || lines[journalLines-1].Number != 3*journalLines+1 {
		t.Errorf("%d lines from %d", len(lines), lines[0].Number)
	}
	if lines, _ = j.Since(3 * journalLines); len(lines) != 1 || lines[0].Text != fmt.Sprint(3*journalLines-1) {
		t.Errorf("the last: %+v", lines)
	}
	if lines, _ = j.Since(1 << 40); len(lines) != 0 {
		t.Errorf("from the future: %d lines", len(lines))
	}
	for range 200 {
		j.add(plugin.Line{Text: strings.Repeat("x", 10<<10)})
	}
	size := 0
	lines, _ = j.Since(0)
	for _, l := range lines {
		size += len(l.Text)
	}
	if size > journalBytes || len(lines) < journalBytes/journalLineBytes/2 {
		t.Errorf("%d lines of %d bytes", len(lines), size)
	}
	(*Journal)(nil).add(plugin.Line{})
}
