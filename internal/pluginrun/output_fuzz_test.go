package pluginrun

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
)

// fit reports whether a text is fit to be shown: one printable line of at most so
// many bytes.
func fit(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// entry is a line of a log.
type entry struct {
	level hclog.Level
	text  string
}

// notebook keeps what is logged.
type notebook struct{ entries []entry }

// Accept implements [hclog.SinkAdapter].
func (n *notebook) Accept(_ string, level hclog.Level, text string, _ ...any) {
	n.entries = append(n.entries, entry{level, text})
}

// noted is a process that does not run, and what it logs.
func noted() (*process, *notebook) {
	log, book := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off}), &notebook{}
	log.RegisterSink(book)
	p := newProcess(plugin.Candidate{Name: "p", Path: "p"}, Config{Logger: log}.withDefaults())
	p.output.limit.end() // nothing waits for a rate
	return p, book
}

// FuzzOutput: whatever a plugin prints, in whatever pieces it comes, and whatever it
// says on its stream, the log and the end that errors quote are bounded and fit to be
// shown.
func FuzzOutput(f *testing.F) {
	for i, out := range []string{
		"", "plain\n", "no end", "a\r\n\r\n\nb\n", "\x1b]0;title\x07\x9b\u202e\xff\n",
		`{"@level":"warn","@message":"m","@module":"x"}` + "\n", `{"@message":42}` + "\n", `{"@message":{"a":[]},"@level":7}` + "\n",
		`{"@level":"shout","@message":"\u001b[2J\n\ud800"}` + "\n", `{"@message":""}` + "\n", `{"@Message":"case"}` + "\n", "{\n", "{}\n", "null\n",
		strings.Repeat(`{"a":`, 10_000) + "\n", "panic: \x1b[31mwhy\n\ngoroutine 1 [running]:\n", "fatal error: all goroutines are asleep\n",
		strings.Repeat("é", maxLogLine) + "\nnext\n", strings.Repeat("\r", maxLogLine) + "x\n", strings.Repeat("x", maxLogLine-1) + "\nnext",
		strings.Repeat("line\n", 2*tailLines), strings.Repeat("\n", 100), strings.Repeat("x", tailLineBytes-1) + "é\n",
	} {
		f.Add([]byte(out), uint8(i*37), i-10)
	}
	f.Fuzz(func(t *testing.T, out []byte, step uint8, level int) {
		p, whole := noted()
		p.output.readStderr(bytes.NewReader(append(bytes.Clone(out), '\n')))
		check(t, p.output, whole)

		p, pieces := noted()
		lines, piece := newLineLogger(p.output), int(step)*7+1
		for b := range slices.Chunk(append(bytes.Clone(out), '\n'), piece) {
			if n, err := lines.Write(b); n != len(b) || err != nil {
				t.Fatal(n, err)
			}
		}
		check(t, p.output, pieces)
		if len(whole.entries) < logBurst && !slices.Equal(whole.entries, pieces.entries) {
			t.Fatalf("in pieces of %d it is %v, in one %v", piece, pieces.entries, whole.entries)
		}

		levels := []string{"trace", "debug", "info", "warn", "error"}
		p, records := noted()
		p.output.logRecord(levels[uint(level)%uint(len(levels))], string(out), "", "")
		p.output.logRecord(levels[uint(level)%uint(len(levels))], string(out), "c1", "")
		check(t, p.output, records)
		if len(records.entries) != 2 {
			t.Fatalf("two records are logged as %v", records.entries)
		}
	})
}

// check looks at what is shown of a process's output.
func check(t *testing.T, p *output, book *notebook) {
	t.Helper()
	for _, e := range book.entries {
		// A byte that is not a character takes four.
		if e.level < hclog.Trace || e.level > hclog.Error || !fit(e.text, 4*maxLogLine) {
			t.Fatalf("%v: %q", e.level, e.text)
		}
	}
	const most = tailLineBytes + len("…")
	kept := strings.Split(p.stderr.String(), "\n")
	if len(kept) > tailLines {
		t.Fatalf("%d lines are kept", len(kept))
	}
	for _, line := range append(kept, p.stderr.last(), p.stderr.cause()) {
		if !fit(line, most) {
			t.Fatalf("kept: %q", line)
		}
	}
}
