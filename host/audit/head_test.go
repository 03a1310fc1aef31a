package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// What is gone from the end of a log shows by the line that is remembered, also after the log has
// continued.
func TestHead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, path string)
		says string // without and with another line
		then string
	}{
		"nothing": {func(*testing.T, string) {}, "", ""},
		"removed": {
			func(t *testing.T, path string) { remove(t, path) },
			"does not exist", "lines 1 to 4 are missing at the beginning",
		},
		"emptied": {
			func(t *testing.T, path string) { overwrite(t, path) },
			"lines 1 to 4 are missing at the end", "lines 1 to 4 are missing at the beginning",
		},
		"cut": {
			func(t *testing.T, path string) { overwrite(t, path, readLines(t, path)[:3]...) },
			"line 4 is missing at the end: line 4 was written at", "line 4 is missing before this one",
		},
		"made again": {
			func(t *testing.T, path string) {
				remove(t, path)
				f, err := Open(path, Options{})
				for i := range 4 {
					if err == nil {
						err = f.Write(record(i + 10))
					}
				}
				if err == nil {
					err = f.Close()
				}
				require.NoError(t, err)
			}, "line 4 is not the line that was written at", "another line 4 was here when line 5 was written",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, head := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "heads", "head.json")
			warned := ""
			write := func(i, n int) {
				f, err := Open(path, Options{Head: head, Warn: func(text string) { warned += text }})
				for range n {
					if err == nil {
						err = f.Write(record(i))
					}
				}
				if err == nil {
					err = f.Close()
				}
				require.NoError(t, err)
			}
			write(1, 3)
			write(2, 1)
			h, err := ReadHead(head)
			if err != nil || h.Seq != 4 || h.File != path || !strings.HasPrefix(h.Hash, "sha256:") || time.Since(h.Time) > time.Hour {
				t.Fatalf("the head is %+v, %v", h, err)
			}
			c.harm(t, path)
			check := func(want string) {
				t.Helper()
				h := require.Must(ReadHead(head))(t)
				r, err := Verify(t.Context(), path, h)
				said := ""
				if r.Break != nil {
					said = r.Break.Text
				}
				if err != nil {
					said += err.Error()
				}
				if (said == "") != (want == "") || !strings.Contains(said, want) {
					t.Errorf("it says %q, want %q", said, want)
				}
			}
			check(c.says)
			write(3, 1)
			check(c.then)
			if (warned != "") != (c.says != "") || warned != "" && !strings.Contains(warned, "continues after line 4") {
				t.Errorf("it warns %q", warned)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
}

// A daemon remembers its newest line while it runs, so that a kill does not lose it, and other
// processes' newer lines stay remembered.
func TestHeadWhileWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, head := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "head.json")
	open := func() *File {
		f := require.Must(Open(path, Options{Head: head}))(t)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	seq := func() uint64 {
		h := require.Must(ReadHead(head))(t)
		return h.Seq
	}
	write := func(f *File) {
		require.NoError(t, f.Write(record(1)))
	}
	a, b := open(), open()
	write(a)
	equal(t, "the line that is remembered after the first", seq(), 1)
	a.head.due = time.Time{} // as a second later
	write(a)
	equal(t, "the line that is remembered then", seq(), 2)
	write(b)
	write(b)
	require.NoError(t, b.Close())
	equal(t, "the line that is remembered after the other's end", seq(), 4)
	require.NoError(t, a.Close())
	equal(t, "the line that is remembered at the end", seq(), 4)

	overwrite(t, head, []byte("{"))
	if _, err := ReadHead(head); err == nil || !strings.Contains(err.Error(), "mend or remove it") {
		t.Errorf("a damaged head: %v", err)
	}
	if h, err := ReadHead(filepath.Join(dir, "none")); err != nil || h.Seq != 0 {
		t.Errorf("no head: %+v, %v", h, err)
	}
}

// A line is found by its hash alone.
func TestVerifyExpects(t *testing.T) {
	t.Parallel()
	_, path := newLog(t, 5, Options{})
	hash := verify(t, path).UpTo.Hash
	r, err := Verify(t.Context(), path, Mark{Hash: hash})
	if err != nil || r.Break != nil || len(r.Found) != 1 || r.Found[0].Seq != 5 || !strings.Contains(r.String(), "is that of line 5") {
		t.Errorf("the report is %s, %v", &r, err)
	}
	overwrite(t, path, readLines(t, path)[:4]...)
	r, err = Verify(t.Context(), path, Mark{Hash: hash})
	if err != nil || r.Break == nil || !strings.Contains(r.String(), "no line has the hash "+hash) {
		t.Errorf("without the line, the report is %s, %v", &r, err)
	}
}

// Files are begun and deleted by age, and the rest is whole.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	f := require.Must(Open(path, Options{MaxAge: 40 * time.Hour}))(t)
	defer func() { _ = f.Close() }()
	stranger := path + ".000000007" // not a name of ours: it has a zero in front
	overwrite(t, stranger, []byte("mine\n"))
	write := func(age time.Duration) (files int) {
		r := record(1)
		r.Time = time.Now().Add(-age)
		require.NoError(t, f.Write(r))
		all, _, err := listRotated(path)
		require.NoError(t, err)
		return len(all)
	}
	for i, c := range []struct {
		age   time.Duration
		files int // besides the current one, afterwards
	}{
		{50 * time.Hour, 0},
		{30 * time.Hour, 0}, // a new file, as a quarter is over; the first is older than 40 h
		{0, 1}, {0, 1},      // the file of 30 h ago stays, and the newest is young
	} {
		if got := write(c.age); got != c.files {
			t.Errorf("after line %d there are %d other files, want %d", i, got, c.files)
		}
	}
	if r := verify(t, path); r.Break != nil || r.Lines != 3 || r.From.Seq != 2 {
		t.Errorf("the report is\n%s", r)
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Error(err)
	}
}
