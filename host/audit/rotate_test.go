package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// threeLines is a size that three records fit in, and not four.
func threeLines(t *testing.T) int64 {
	t.Helper()
	_, path := newLog(t, 4, Options{})
	return int64(len(read(t, path))) - 1
}

func names(t *testing.T, path string) string {
	t.Helper()
	entries := require.Must(os.ReadDir(filepath.Dir(path)))(t)
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), lockSuffix) {
			continue
		}
		out = append(out, strings.TrimPrefix(e.Name(), "audit.jsonl"))
	}
	return strings.Join(out, " ")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	size := threeLines(t)
	f, path := newLog(t, 10, Options{MaxSize: size})
	equal(t, "the files", names(t, path), " .000001 .000002 .000003")
	r := isWhole(t, path, 10)
	equal(t, "the number of files", r.Files, 4)
	for _, number := range []uint64{1, 2, 3} {
		equal(t, "the number of lines", len(readLines(t, rotatedPath(path, number))), 3)
	}
	// The last hash of a file is what the next one begins with.
	last := readLines(t, rotatedPath(path, 3))[2]
	first := readLines(t, path)[0]
	l, _ := parseLink(last[:len(last)-1])
	if !bytes.Contains(first, []byte(`"prev":"`+l.hash.String()+`"`)) {
		t.Errorf("it goes on with %s after %s", first, last)
	}
	// Another writer notices.
	g := open(t, path, Options{MaxSize: size})
	write(t, f, 7)
	write(t, g, 1)
	write(t, f, 1)
	isWhole(t, path, 19)

	f, path = newLog(t, 10, Options{MaxSize: -1})
	f.opts.MaxSize = 10 // less than a line: each has a file of its own
	write(t, f, 3)
	equal(t, "the files", names(t, path), " .000001 .000002 .000003")
	isWhole(t, path, 13)
}

func TestKeep(t *testing.T) {
	t.Parallel()
	size := threeLines(t)
	_, path := newLog(t, 20, Options{MaxSize: size, Keep: 2})
	equal(t, "the files", names(t, path), " .000005 .000006")
	r := verify(t, path)
	if r.Break != nil || r.From.Seq == 1 || !strings.Contains(r.String(), fmt.Sprintf("from line %d on", r.From.Seq)) {
		t.Errorf("the report is\n%s", r)
	}
	equal(t, "the number of lines", r.Lines, int(20-r.From.Seq+1))

	// What else goes away is missed.
	require.NoError(t, os.Remove(rotatedPath(path, 5)))
	r = verify(t, path)
	if r.Break == nil || r.Break.Kind != Missing || !strings.Contains(r.Break.Text, "at the beginning of the log") {
		t.Errorf("without its oldest file:\n%s", r)
	}
	equal(t, "whole up to", r.UpTo.Seq, 20)

	_, path = newLog(t, 20, Options{MaxSize: size, Keep: -1})
	isWhole(t, path, 20)
	equal(t, "the number of files", len(strings.Fields(names(t, path))), 6)
}

// The oldest line is named before older ones are deleted: a crash in between
// leaves more than is promised.
func TestKeepInterrupted(t *testing.T) {
	t.Parallel()
	size := threeLines(t)
	f, path := newLog(t, 3, Options{MaxSize: size, Keep: 1})
	victim := rotatedPath(path, 1)
	var content []byte
	f.writeAt = func(file *os.File, b []byte, at int64) (int, error) {
		if at == 0 && bytes.Contains(b, []byte(oldestKey)) {
			content = read(t, victim)
		}
		return file.WriteAt(b, at)
	}
	write(t, f, 6)
	if content == nil {
		t.Fatal("nothing was deleted")
	}
	overwrite(t, victim, content)
	isWhole(t, path, 9)
	write(t, f, 3) // and the next rotation deletes it
	equal(t, "the files", names(t, path), " .000003")
	equal(t, "it", verify(t, path).Break == nil, true)
}

// A crash between the rename and the new file loses nothing.
func TestRotationInterrupted(t *testing.T) {
	t.Parallel()
	for _, torn := range []string{"", `{"seq":4,"pre`} {
		f, path := newLog(t, 3, Options{})
		overwrite(t, path, read(t, path), []byte(torn))
		require.NoError(t, errors.Join(f.Close(), os.Rename(path, rotatedPath(path, 1))))
		if torn == "" {
			isWhole(t, path, 3)
		}
		n := 0
		for _, err := range Search(t.Context(), path, Filter{Limit: 2}) {
			if err == nil {
				n++
			}
		}
		equal(t, "the lines at the end", n, 2)
		write(t, open(t, path, Options{}), 2)
		r := isWhole(t, path, 5)
		equal(t, "the number of torn lines", len(r.Torn), len(torn)/13)
	}
}

func TestRotationFails(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 3, Options{MaxSize: threeLines(t)})
	// A directory of the largest number: there is no next one.
	in := rotatedPath(path, maxNumber)
	require.NoError(t, os.MkdirAll(in, 0o700))
	require.NoError(t, os.Mkdir(rotatedPath(path, 0), 0o700))
	assert.ErrorContainsf(t, f.Write(record(3)), "a new file cannot be begun: "+in+" has the largest number", "the error")
	equal(t, "the number of lines", len(readLines(t, path)), 3)
	require.NoError(t, errors.Join(os.Remove(in), os.Remove(rotatedPath(path, 0))))
	write(t, f, 2)
	isWhole(t, path, 5)
}

// Files of other programs next to the log are not part of it.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	f, path := newLog(t, 3, Options{MaxSize: threeLines(t)})
	for _, suffix := range []string{".1", ".gz", ".000001.gz", ".00000x", "-000001", ".99999999999999999999"} {
		overwrite(t, path+suffix, []byte("something else\n"))
	}
	write(t, f, 3)
	isWhole(t, path, 6)
}
