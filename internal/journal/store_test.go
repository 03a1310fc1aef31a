package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
)

// texts are what is new, as texts; errors fail the test.
func texts(t *testing.T, r *Reader) (out []string) {
	t.Helper()
	for e, err := range r.New() {
		require.NoError(t, err)
		out = append(out, e.Text)
	}
	return out
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	assert.EqualSlicesf(t, got, want, "%s", what)
}

// quiet is a store that must be able to write.
func quiet(t *testing.T, dir string) *Store {
	return NewStore(dir, func(text string, err error) { t.Errorf("%s: %v", text, err) })
}

// What a store was given before it is closed can be read, by plugin, by kind and by time; hostile names harm nothing.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", Folder)
	names := []string{"fs", "../../etc/passwd", "..", "a/b", "CON:", "-rf", "x\x00y", "\x1b[2J\u202e", strings.Repeat("n", 300), "fs.log", "fs.log.1", "fs.events", "_x"}
	s := quiet(t, dir)
	for _, name := range names {
		s.Of(name).Add(Entry{Level: "info", PID: 7, Text: "of " + name + " \x1b[31m\u202e" + strings.Repeat("\xff", 3), Call: "c"})
		s.Of(name).Tell("warn", Started, "began", "pid", 8, "why", "\x1b", "none", "", "call", "d")
	}
	s.Close()
	s.Of("fs").Add(Entry{Text: "too late"})
	files := require.Must(os.ReadDir(dir))(t)
	if len(files) != 2*len(names) {
		t.Errorf("%d files: %v", len(files), files)
	}
	for _, f := range files {
		if info := require.Must(f.Info())(t); info.Mode() != 0o600 || len(f.Name()) > 120 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
	}
	for _, name := range names {
		r := NewReader(dir)
		r.Plugin = name
		all := require.Must(r.Newest(10))(t)
		if len(all) != 2 || all[0].Plugin != name || strings.ContainsAny(all[0].Text, "\x1b\u202e") || !utf8.ValidString(all[0].Text) || all[0].PID != 7 ||
			all[1].Event != Started || all[1].PID != 8 || all[1].Call != "d" || len(all[1].Facts) != 1 || all[1].Facts["why"] != `\x1b` {
			t.Errorf("%q has %+v", name, all)
		}
		r.Close()
	}
	r := NewReader(dir)
	defer r.Close()
	if r.Events, r.Plugin = true, ""; len(texts(t, r)) != len(names) {
		t.Error("not all events")
	}
	r = NewReader(dir)
	if r.Since = time.Now().Add(time.Hour); len(texts(t, r)) != 0 {
		t.Error("entries of the future")
	}
	equal(t, "a directory that is not there", texts(t, NewReader(dir+"x")))
}

// Several processes write and rotate one file: all that is in it is whole lines, within the bounds.
func TestProcessesShareAFile(t *testing.T) {
	t.Parallel()
	const most, writers, batches = 32 << 10, 8, 100
	dir := t.TempDir()
	path := filepath.Join(dir, "p.log")
	r := NewReader(dir)
	defer r.Close()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for b := range batches {
				var text []byte
				for range 5 {
					text = appendEntry(text, Entry{Time: time.Now(), Plugin: "p", Text: fmt.Sprint(w, b)})
				}
				err := safefile.ErrLocked
				for errors.Is(err, safefile.ErrLocked) { // then a Store tries again, too
					_, err = appendTo(path, text, most)
				}
				assert.NoError(t, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for seen := 0; ; {
		seen += len(texts(t, r))
		select {
		case <-done:
			if seen += len(texts(t, r)); seen == 0 || seen > writers*batches*5 {
				t.Errorf("%d lines were read", seen)
			}
			for _, name := range []string{path, path + ".1"} {
				text := require.Must(os.ReadFile(name))(t)
				for line := range bytes.Lines(text) {
					if e := new(Entry); json.Unmarshal(line, e) != nil || e.Plugin != "p" {
						t.Fatalf("%s has %q", name, line)
					}
				}
				if len(text) > most {
					t.Errorf("%s has %d bytes", name, len(text))
				}
			}
			return
		default:
		}
	}
}

// One who follows misses nothing of what is rotated, cut, replaced and removed, and skips what others wrote there.
func TestReaderFollows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "p.log")
	at := time.Now()
	line := func(text string) []byte { return appendEntry(nil, Entry{Time: at, Plugin: "p", Text: text}) }
	write := func(text ...string) {
		t.Helper()
		for _, one := range text {
			require.Must(appendTo(path, line(one), 1<<20))(t)
		}
	}
	rotate := func() {
		at = at.Add(time.Second) // the times of files differ
		require.NoError(t, os.Chtimes(path, at, at))
		require.NoError(t, os.Rename(path, path+".1"))
	}
	raw := func(text []byte) {
		f := require.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
		_ = require.Must(f.Write(text))(t)
		require.NoError(t, f.Close())
	}
	write("1")
	rotate()
	write("2")
	r := NewReader(dir)
	defer r.Close()
	equal(t, "both files", texts(t, r), "1", "2")
	equal(t, "nothing is new", texts(t, r))
	write("3")
	rotate()
	equal(t, "before there is a new file", texts(t, r), "3")
	equal(t, "none yet", texts(t, r))
	write("4")
	rotate()
	write("5")
	equal(t, "rotated", texts(t, r), "4", "5")
	write("6")
	rotate()
	write("7")
	write("8")
	rotate()
	write("9")
	equal(t, "rotated twice", texts(t, r), "6", "7", "8", "9")

	whole := line("10")
	raw(whole[:9])
	equal(t, "half a line", texts(t, r))
	raw(whole[9:])
	equal(t, "the other half", texts(t, r), "10")
	raw(line("killed")[:20])
	write("11")
	equal(t, "a writer was killed in the middle", texts(t, r), "11")
	raw([]byte("{}\nnull\n[1]\n\xff\xfe\n{\"time\":\"x\"}\n"))
	raw(bytes.Repeat([]byte("x"), 64<<20))
	equal(t, "strange lines", texts(t, r))
	write("12")
	equal(t, "after a line of 64 MiB", texts(t, r), "12")

	at = at.Add(-time.Hour)
	write("13")
	at = at.Add(2 * time.Hour)
	write("14")
	at = at.Add(-2 * time.Hour)
	write("15")
	equal(t, "a clock that jumps", texts(t, r), "13", "14", "15")
	require.NoError(t, os.Truncate(path, 0))
	write("16")
	equal(t, "cut", texts(t, r), "16")
	require.NoError(t, os.Remove(path))
	equal(t, "removed", texts(t, r))
	write("17")
	equal(t, "there again", texts(t, r), "17")
	require.NoError(t, os.WriteFile(path+".new", append(line("18"), line("19")...), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	equal(t, "replaced", texts(t, r), "18", "19")

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/dev/zero", path))
	said := 0
	for range 3 {
		for _, err := range r.New() {
			assert.ErrorContains(t, err, "symbolic link")
			said++
		}
	}
	if said != 1 {
		t.Errorf("a link is told %d times", said)
	}
	if _, err := appendTo(path, line("20"), 1<<20); err == nil {
		t.Error("it writes through a link")
	}
}

// Whoever adds an entry does not wait for a disk that is full, which is said once, and what is free again is used.
func TestStoreOnAFullDisk(t *testing.T) {
	t.Parallel()
	fulldisk.Run(t, func(t *testing.T, disk string) {
		full := filepath.Join(disk, "full")
		f := require.Must(os.Create(full))(t)
		for block := make([]byte, 4096); ; {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
		require.NoError(t, f.Close())
		var said atomic.Int64
		s := NewStore(filepath.Join(disk, Folder), func(string, error) { said.Add(1) })
		s.Of("p").Add(Entry{Text: "first"})
		s.Of("p").Tell("warn", Note, "event")
		require.Eventually(t, "it is said", func() bool { return said.Load() == 1 && s.Of("p").Dir() == "" })
		for i := range 100 {
			s.Of("p").Add(Entry{Text: fmt.Sprint(i)})
		}
		require.NoError(t, os.Truncate(full, 0))
		require.Eventually(t, "it writes again", func() bool { return s.Of("p").Dir() != "" })
		s.Close()
		r := NewReader(filepath.Join(disk, Folder))
		defer r.Close()
		got := texts(t, r)
		if len(got) != 102 || got[0] != "first" || got[1] != "event" || got[101] != "99" || said.Load() != 1 {
			t.Errorf("%d lines, said %d times: %q", len(got), said.Load(), got)
		}
	})
}

// A place that cannot be written, or that others can change, is told and not used. When it is mended, the files have
// what memory has, and how much is missing.
func TestStoreNeedsItsOwnDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	public, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Chmod(public, 0o777))
	require.NoError(t, os.Symlink(public, link))
	for _, dir := range []string{filepath.Join(file, Folder), public, link} {
		said := make(chan error, 9)
		s := NewStore(dir, func(_ string, err error) { said <- err })
		s.Of("p").Add(Entry{Text: "x"})
		if err := <-said; err == nil {
			t.Error("no reason")
		}
		s.Close()
		if s.Of("p").Dir() != "" || len(said) > 0 {
			t.Errorf("%s: %d more", dir, len(said))
		}
		if files, _ := os.ReadDir(public); len(files) > 0 {
			t.Errorf("%s has %v", dir, files)
		}
	}
	dir := filepath.Join(file, Folder)
	s := NewStore(dir, func(string, error) {})
	for i := range maxEntries + 500 {
		s.Of("p").Add(Entry{Text: fmt.Sprint(i)})
	}
	require.Eventually(t, "it fails", func() bool { return s.Of("p").Dir() == "" })
	require.NoError(t, os.Remove(file))
	s.Close()
	r := NewReader(dir)
	defer r.Close()
	if got := texts(t, r); len(got) != maxEntries+1 || !strings.HasPrefix(got[0], "500 lines are missing here") || got[1] != "500" {
		t.Errorf("%d lines: %q", len(got), got[:2])
	}
	s = NewStore("", nil)
	s.Of("p").Tell("info", Note, "in memory")
	s.Close()
	if all, _ := s.Events().Since(0); len(all) != 1 {
		t.Errorf("without a directory: %+v", all)
	}
}

// A plugin that makes a million events costs a hundred lines, and those of others stay.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testEventsAreBounded)
}

func testEventsAreBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), Folder)
	s := quiet(t, dir)
	s.Of("quiet").Tell("info", Started, "began")
	for range 1_000_000 {
		s.Of("loud").Tell("warn", Denied, "something", "a", "b")
	}
	time.Sleep(eventRate * time.Second) // until one more may come
	s.Of("loud").Tell("warn", Denied, "once more")
	s.Close()
	r := NewReader(dir)
	defer r.Close()
	got := texts(t, r)
	if !slices.Contains(got, "began") || len(got) != eventBurst+2 || !strings.Contains(got[len(got)-1], "events before it came too fast") {
		t.Errorf("%d events: %q", len(got), got[len(got)-1])
	}
	if all, _ := s.Events().Since(0); all[0].Text != "began" {
		t.Errorf("in memory: %+v", all[0])
	}
}

// The oldest files go if they are too large together, or too many; none does when the clock has jumped, or that is not ours.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	for name, days := range map[string]int{"new.log": 0, "new.log.1": 29, "quiet.log": 4000, "future.log": -400, "notes.txt": 9999, "big.log": 3, "big.events": 2} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, make([]byte, 100), 0o600))
		at := now.Add(-time.Duration(days) * 24 * time.Hour)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	names := func() (out []string) {
		for _, e := range require.Must(os.ReadDir(dir))(t) {
			out = append(out, e.Name())
		}
		return out
	}
	require.NoError(t, sweep(dir, 600, 6))
	equal(t, "all fit", names(), "big.events", "big.log", "future.log", "new.log", "new.log.1", "notes.txt", "quiet.log")
	require.NoError(t, sweep(dir, 599, 6))
	equal(t, "too large", names(), "big.events", "big.log", "future.log", "new.log", "new.log.1", "notes.txt")
	require.NoError(t, sweep(dir, 1000, 3))
	equal(t, "too many", names(), "big.events", "future.log", "new.log", "notes.txt")
}
