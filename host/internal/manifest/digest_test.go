//go:build linux || darwin

package manifest

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A digest is remembered only where every later change would show.
func TestSettled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(d time.Duration) int64 { return now.Add(d).UnixNano() }
	for name, c := range map[string]struct {
		id   identity
		want bool
	}{
		"old":                {identity{mtime: at(-time.Hour), changed: at(-time.Minute)}, true},
		"just written":       {identity{mtime: at(-time.Second), changed: at(-time.Second)}, false},
		"old times, moved":   {identity{mtime: at(-time.Hour), changed: at(-time.Second)}, false},
		"of the future":      {identity{mtime: at(time.Hour), changed: at(time.Hour)}, false},
		"at the very margin": {identity{mtime: at(-settled), changed: at(-settled)}, false},
	} {
		if got := c.id.settledAt(now); got != c.want {
			t.Errorf("%s: settled %v, want %v", name, got, c.want)
		}
	}
}

// identityAt is the identity of a file that exists.
func identityAt(t *testing.T, path string) identity {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	id, ok := identityOf(info)
	if !ok {
		t.Fatal("this system has no identities")
	}
	return id
}

// remembering is a cache that takes a wrong digest for that of a file: who gets it
// has not read the file.
func remembering(t *testing.T, path string) *Cache {
	t.Helper()
	c := open(t, t.TempDir())
	index{identityAt(t, path): wrong}.save(c.dir)
	return c
}

var wrong = digest{1, 2, 3}

func TestHashedOnce(t *testing.T) {
	t.Parallel()
	path := program(t, "sample", "binary")
	c := remembering(t, path)
	if sum, err := c.digests.of(t.Context(), path); sum != wrong || err != nil {
		t.Errorf("it was hashed again: %x, %v", sum, err)
	}
	// The same file under another name.
	link := filepath.Join(filepath.Dir(path), "link")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	index{identityAt(t, link): wrong}.save(c.dir) // a link changes the file's own time
	fresh := open(t, c.dir.above)
	if sum, err := fresh.digests.of(t.Context(), link); sum != wrong || err != nil {
		t.Errorf("it was hashed again under another name: %x, %v", sum, err)
	}
}

func TestHashedAgain(t *testing.T) {
	t.Parallel()
	want := digest(sha256.Sum256([]byte("binary")))
	for name, change := range map[string]func(t *testing.T, path string) (digest, error){
		"touched": func(_ *testing.T, path string) (digest, error) {
			at := time.Now().Add(-time.Hour)
			return want, os.Chtimes(path, at, at)
		},
		"written": func(_ *testing.T, path string) (digest, error) {
			return sha256.Sum256([]byte("yraniB")), os.WriteFile(path, []byte("yraniB"), 0o600)
		},
		"written, its time set back": func(t *testing.T, path string) (digest, error) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			return sha256.Sum256([]byte("yraniB")), errors.Join(os.WriteFile(path, []byte("yraniB"), 0o600), os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"exchanged": func(t *testing.T, path string) (digest, error) {
			return sha256.Sum256([]byte("yraniB")), os.Rename(program(t, "other", "yraniB"), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := program(t, "sample", "binary")
			c := remembering(t, path)
			want, err := change(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if sum, err := c.digests.of(t.Context(), path); sum != want || err != nil {
				t.Errorf("got %x, %v, want %x", sum, err, want)
			}
		})
	}
}

// A file that was written a moment ago is hashed, and hashed again by the next.
func TestYoungFilesAreNotRemembered(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	path := program(t, "sample", "binary")
	if _, err := c.digests.of(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if remembered := len(c.digests.known) + len(readIndex(c.dir)); remembered > 0 && !identityAt(t, path).settledAt(time.Now()) {
		t.Error("it was remembered")
	}
}

// An index that is not in order costs time and nothing else.
func TestIndexDamaged(t *testing.T) {
	t.Parallel()
	path := program(t, "sample", "binary")
	want := digest(sha256.Sum256([]byte("binary")))
	for _, content := range []string{"", "hello", head, head + string(make([]byte, overhead)) + "1 2 3 4 5 6\n"} {
		c := remembering(t, path)
		if err := os.WriteFile(filepath.Join(c.dir.above, directoryName, indexName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if sum, err := c.digests.of(t.Context(), path); sum != want || err != nil {
			t.Errorf("%.20q: got %x, %v", content, sum, err)
		}
	}
}

func TestIndexIsShared(t *testing.T) {
	t.Parallel()
	dir := open(t, t.TempDir()).dir
	one, two := identity{1, 2, 3, -4, 5}, identity{6, 1 << 63, 8, 9, 10}
	index{one: {1}}.save(dir)
	index{two: {2}}.save(dir)
	got := readIndex(dir)
	if len(got) != 2 || got[one] != (digest{1}) || got[two] != (digest{2}) {
		t.Errorf("got %v", got)
	}
}

// However many ask for one file, it is read once at a time and all get its digest.
func TestHashedSideBySide(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	path := program(t, "sample", "binary")
	want := digest(sha256.Sum256([]byte("binary")))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if sum, err := c.digests.of(t.Context(), path); sum != want || err != nil {
				t.Errorf("got %x, %v", sum, err)
			}
		})
	}
	all.Wait()
	if len(c.digests.hashing) > 0 {
		t.Error("somebody still waits")
	}
}
