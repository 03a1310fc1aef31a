package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Where the piece of the line cannot even be taken away, the next line tells.
func TestTornByAnError(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{})
	writable := f.at.File
	f.at, f.size = &handle{File: readOnly(t, path), id: f.at.id}, -1 // which cannot be cut
	f.writeAt = func(_ *os.File, b []byte, at int64) (int, error) {
		return short(syscall.EIO)(writable, b, at)
	}
	err := f.Write(record(1))
	equal(t, "the code", tool.CodeOf(err), tool.CodeInternal)
	require.NoError(t, errors.Join(f.closeFile(), writable.Close()))
	f.writeAt = (*os.File).WriteAt
	write(t, f, 2)
	equal(t, "the number of torn lines", len(isWhole(t, path, 3).Torn), 1)
}

func TestTorn(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{1, 20, 300, -2, -1} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			t.Parallel()
			f, path := newLog(t, 3, Options{})
			lines := readLines(t, path)
			if keep < 0 {
				keep += len(lines[2])
			}
			overwrite(t, path, lines[0], lines[1], lines[2][:keep])
			wholeLine := keep == len(lines[2])-1 // but for its newline
			if !wholeLine {
				r := verify(t, path)
				equal(t, "the report", brief(r), "2 lines:")
				equal(t, "the torn line", r.Torn[0].Line, 3)
				equal(t, "whole up to", r.UpTo.Seq, 2)
			}
			// Who wrote the line, and who never saw it, go on alike.
			if keep%2 == 0 {
				f = open(t, path, Options{})
			}
			write(t, f, 2)
			if wholeLine {
				equal(t, "the number of torn lines", len(isWhole(t, path, 5).Torn), 0)
				return
			}
			if keep%2 == 0 {
				r := isWhole(t, path, 4)
				equal(t, "the number of torn lines", len(r.Torn), 1)
				equal(t, "the torn line", r.Torn[0].Line, 3)
			} else { // the writer knows that line 3 was there
				equal(t, "the report", brief(verify(t, path)), "2 lines: missing 4, then 3")
			}
			if !bytes.HasPrefix(read(t, path), bytes.Join([][]byte{lines[0], lines[1], lines[2][:keep], []byte("\n")}, nil)) {
				t.Errorf("something was lost:\n%s", read(t, path))
			}
			// The note is part of the chain: the torn line can be neither dropped
			// nor changed.
			repaired := readLines(t, path)
			overwrite(t, path, repaired[0], repaired[1], repaired[3], repaired[4])
			equal(t, "without the torn line it", verify(t, path).Break == nil, false)
			overwrite(t, path, repaired[0], repaired[1], []byte("x\n"), repaired[3], repaired[4])
			equal(t, "with another torn line it", verify(t, path).Break == nil, false)
		})
	}
}

// What a crash leaves may be of any size and content.
func TestTornLong(t *testing.T) {
	t.Parallel()
	for _, size := range []int{15 << 10, 17 << 10, maxLine, 5 * maxLine} {
		_, path := newLog(t, 1, Options{})
		overwrite(t, path, read(t, path), make([]byte, size))
		write(t, open(t, path, Options{}), 2)
		r := isWhole(t, path, 3)
		equal(t, "the number of torn lines", len(r.Torn), 1)
	}
}

func TestGarbageAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 20 << 10, 5 * maxLine} {
		_, path := newLog(t, 2, Options{})
		overwrite(t, path, read(t, path), bytes.Repeat([]byte("x"), size), []byte("\n"))
		write(t, open(t, path, Options{}), 2)
		equal(t, "the report", brief(verify(t, path)), "2 lines: edited 3, then 3")
	}
}

// Lines that were cut off leave no trace, but for those who wrote them.
func TestCutTail(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 5, Options{})
	lines := readLines(t, path)
	overwrite(t, path, lines[:3]...)
	r := isWhole(t, path, 3)
	if text := r.String(); !strings.Contains(text, "whole up to line 3, ") || !strings.Contains(text, "cut off") {
		t.Errorf("the report is\n%s", text)
	}
	write(t, f, 1)
	r = verify(t, path)
	equal(t, "the report", brief(r), "3 lines: missing 4, then 1")
	assert.Containsf(t, r.Break.Text, "lines 4 to 5 are missing", "the text")
	require.NoError(t, os.Remove(path))
	write(t, f, 1)
	r = verify(t, path)
	equal(t, "the report", brief(r), "1 lines: missing 1")
	equal(t, "whole up to", r.UpTo.Seq, 7)

	// Who took away the directory too gets a new one.
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	write(t, f, 1)
	equal(t, "the report", brief(verify(t, path)), "1 lines: missing 1")
}
