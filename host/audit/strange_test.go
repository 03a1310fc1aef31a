package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// sparse makes a file of 10 GiB, nearly nothing of which is on disk.
func sparse(t *testing.T, path string) {
	t.Helper()
	if err := os.Truncate(path, 10<<30); err != nil {
		t.Skip(err)
	}
}

// Of a log that is huge and empty no more is read than could be its last record,
// and nothing is written to it.
func TestSparse(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 2, Options{MaxSize: -1})
	sparse(t, path)
	for _, r := range []Record{record(2), {Event: Begin}} {
		if err := f.Write(r); !errors.Is(err, errNoRecord) || !strings.Contains(err.Error(), "move the log away") {
			t.Errorf("a line is written to it: %v", err)
		}
	}
	if _, err := Open(path, Options{}); !errors.Is(err, errNoRecord) {
		t.Errorf("it is opened: %v", err)
	}
	r := verify(t, path)
	equal(t, "the report", brief(r), "2 lines: edited 3, then 1")
	assert.Containsf(t, r.String(), "no line ends in 16 MiB", "it says\n%s", r)
	equal(t, "its end", calls(t, Search(t.Context(), path, Filter{Limit: 1})), "c1 ?3")
	equal(t, "a search", calls(t, Search(t.Context(), path, Filter{})), "c0 c1 ?3")
	for e, err := range Search(t.Context(), path, Filter{Limit: 9, Follow: true}) {
		if e.Call == "" {
			assert.ErrorContainsf(t, err, endlessText, "it is followed")
			break
		}
	}

	// When it was moved away, the chain goes on, and the gap shows.
	require.NoError(t, os.Rename(path, rotatedPath(path, 1)))
	write(t, f, 1)
	equal(t, "the report", brief(verify(t, path)), "2 lines: edited 3, then 2")
}

// Rotated files have numbers that the log gave them, and nothing is overwritten.
func TestNumberThatNobodyGave(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"18446744073709551615", "1000000000", "000000", "0000001", "99999999999999999999"} {
		f, path := newLog(t, 1, Options{MaxSize: threeLines(t)})
		overwrite(t, path+"."+name, []byte("precious\n"))
		write(t, f, 11)
		equal(t, "the number of files", isWhole(t, path, 12).Files, 4)
		equal(t, name, string(read(t, path+"."+name)), "precious\n")
	}
	for _, rename := range []func(from, to string) error{renameNew, renameUnlessTaken} {
		_, path := newLog(t, 1, Options{})
		overwrite(t, path+".x", []byte("precious\n"))
		assert.ErrorIsf(t, rename(path, path+".x"), fs.ErrExist, "a file is overwritten")
		equal(t, "it", string(read(t, path+".x")), "precious\n")
		assert.NoError(t, rename(path, path+".y"))
		isWhole(t, path+".y", 1)
	}
}

// What is named like a rotated file and has no record is not deleted. It is no
// reason to read on and on.
func TestRotatedStrangers(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 1, Options{MaxSize: threeLines(t), Keep: 1})
	for n := range uint64(2 * maxStrangers) {
		overwrite(t, rotatedPath(path, n+1), nil)
	}
	require.NoError(t, os.Mkdir(rotatedPath(path, 500), 0o700))
	write(t, f, 11)
	names := strings.Fields(names(t, path))
	equal(t, "the number of strangers that are there", len(names), 2*maxStrangers+2)
	equal(t, "the last one", names[len(names)-1], ".000503")
	if r := verify(t, path); r.Lines == 0 || r.From.Seq == 1 {
		t.Errorf("nothing was given up:\n%s", r)
	}
	require.NoError(t, f.Close())
	for n := range uint64(maxSearched) {
		overwrite(t, rotatedPath(path, n+600), nil)
	}
	overwrite(t, path, nil)
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "have no record: move them away") {
		t.Errorf("with many empty files: %v", err)
	}
	for n := range uint64(maxParts) {
		overwrite(t, rotatedPath(path, n+1000), nil)
	}
	if _, err := Verify(t.Context(), path); err == nil || !strings.Contains(err.Error(), "files like audit.jsonl.000001, more than 1000") {
		t.Errorf("it is read: %v", err)
	}
}

// A line's number that the log never came to does not lead the chain astray.
func TestLineThatNobodyNumbered(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 2, Options{})
	forged := func(seq uint64) []byte {
		l := link{seq: seq}
		return l.appendLine(nil, []byte(`"time":"2026-10-11T12:00:00Z","event":"end","tool":"x"`))
	}
	before := read(t, path)
	for _, seq := range []uint64{1<<62 - 1, 1<<63 + 1, 1<<64 - 1, maxSeq + 1} {
		overwrite(t, path, before, forged(seq))
		write(t, open(t, path, Options{}), 2)
		equal(t, fmt.Sprint("the report with line ", seq), brief(verify(t, path)), "2 lines: edited 3, then 3")
		equal(t, "the calls", calls(t, Search(t.Context(), path, Filter{})), "c0 c1 ?3 c0 c1")
	}
	overwrite(t, path, before, forged(maxSeq))
	f := open(t, path, Options{})
	assert.ErrorContainsf(t, f.Write(record(0)), "which toolhost cannot have written: move the log away", "behind the largest number")
	if !bytes.Equal(read(t, path), slices.Concat(before, forged(maxSeq))) {
		t.Error("something was written behind the largest number")
	}
}
