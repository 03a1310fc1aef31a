package manifest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

var about = wire.Description{
	Name: "sample", Version: "1.2.3", SDK: "test/1",
	Tools: []tool.Definition{{
		Name: "sample.do", Description: "Does something.", Safety: tool.Cautious, InputSchema: tool.Schema(`{"type":"object"}`),
		Categories: []string{"odd"}, Timeout: tool.Duration(time.Second), RateLimit: &tool.RateLimit{Calls: 1, Period: tool.Duration(time.Hour)},
	}},
}

func open(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// program is a file that is old enough for its digest to be remembered.
func program(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path
}

func keyOf(t *testing.T, c *Cache, s Subject) Key {
	t.Helper()
	k, err := c.Key(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// pathOf is the file of a key.
func pathOf(c *Cache, k Key) string { return filepath.Join(c.dir.above, directoryName, k.name()) }

// filled is a cache with one manifest, and its file.
func filled(t *testing.T) (c *Cache, k Key, path string) {
	t.Helper()
	c = open(t, filepath.Join(t.TempDir(), "cache"))
	k = keyOf(t, c, Subject{Path: program(t, "sample", "binary")})
	if err := c.Store(k, about); err != nil {
		t.Fatal(err)
	}
	return c, k, pathOf(c, k)
}

func TestStoreAndFind(t *testing.T) {
	t.Parallel()
	c, k, path := filled(t)
	for _, again := range []*Cache{c, open(t, c.dir.above)} {
		if got, ok := again.Find(k); !ok || !reflect.DeepEqual(got, about) {
			t.Errorf("found %v, %+v", ok, got)
		}
	}
	if runtime.GOOS != "windows" {
		for p, want := range map[string]os.FileMode{c.dir.above: 0o700, filepath.Dir(path): 0o700, path: 0o600} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v, want %v", p, info.Mode(), err, want)
			}
		}
	}
	c.Forget(k)
	if _, ok := c.Find(k); ok {
		t.Error("it was not forgotten")
	}
	c.Forget(k) // which is no harm
}

// What is not as it was written is not there, and can be written anew.
func TestDamaged(t *testing.T) {
	t.Parallel()
	flip := func(at func(n int) int) func([]byte) []byte {
		return func(b []byte) []byte { b[at(len(b))] ^= 1; return b }
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"shorter":         func(b []byte) []byte { return b[:len(b)-1] },
		"only the head":   func(b []byte) []byte { return b[:len(head)] },
		"longer":          func(b []byte) []byte { return append(b, 0) },
		"another format":  flip(func(int) int { return len(head) - 2 }),
		"checksum":        flip(func(int) int { return len(head) }),
		"first byte":      flip(func(int) int { return len(head) + overhead }),
		"last byte":       flip(func(n int) int { return n - 1 }),
		"something else":  func([]byte) []byte { return []byte(strings.Repeat("hello ", 100)) },
		"too large":       func(b []byte) []byte { return append(b, make([]byte, MaxSize)...) },
		"an empty answer": func(b []byte) []byte { return b[:len(head)+overhead] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, k, path := filled(t)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, ok := c.Find(k); ok {
				t.Errorf("found %+v", got)
			}
			if err := c.Store(k, about); err != nil {
				t.Fatal(err)
			}
			if _, ok := c.Find(k); !ok {
				t.Error("it was not written anew")
			}
		})
	}
}

// A manifest answers under its own key only.
func TestInAnothersPlace(t *testing.T) {
	t.Parallel()
	c, _, path := filled(t)
	other := keyOf(t, c, Subject{Path: program(t, "other", "another binary")})
	if err := os.Rename(path, pathOf(c, other)); err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Find(other); ok {
		t.Errorf("found %+v", got)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	c, k, _ := filled(t)
	huge := about
	huge.Version = strings.Repeat("x", MaxSize)
	if err := c.Store(k, huge); err == nil {
		t.Error("it was stored")
	}
}

// Everything that a description may depend on makes another key.
func TestKey(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	path := program(t, "sample", "binary")
	base := Subject{Path: path, Args: []string{"a", "b"}, Env: []string{"A=1", "B=2"}, Config: []byte(`{}`), Host: "1"}
	want := keyOf(t, c, base)
	if got := keyOf(t, c, base); got != want {
		t.Error("the same subject has two keys")
	}
	elsewhere := base
	elsewhere.Path = program(t, "sample", "binary")
	if got := keyOf(t, c, elsewhere); got != want {
		t.Error("the same binary in another directory has another key")
	}
	for name, change := range map[string]func(*Subject){
		"binary":        func(s *Subject) { s.Path = program(t, "sample", "binary, newer") },
		"name":          func(s *Subject) { s.Path = program(t, "sample-2", "binary") },
		"arguments":     func(s *Subject) { s.Args = []string{"a"} },
		"joined":        func(s *Subject) { s.Args = []string{"ab"} },
		"environment":   func(s *Subject) { s.Env = []string{"A=1", "B=3"} },
		"moved":         func(s *Subject) { s.Args, s.Env = nil, []string{"a", "b", "A=1", "B=2"} },
		"configuration": func(s *Subject) { s.Config = []byte(`{"x":1}`) },
		"host":          func(s *Subject) { s.Host = "2" },
	} {
		s := base
		change(&s)
		if keyOf(t, c, s) == want {
			t.Errorf("%s: the key is the same", name)
		}
	}
	if _, err := c.Key(t.Context(), Subject{Path: filepath.Join(t.TempDir(), "missing")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing binary: %v", err)
	}
}

// Nothing that a plugin is given can be read in the directory.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "cache"))
	s := Subject{
		Path: program(t, "sample", "binary"), Args: []string{"--token=hunter2"}, Env: []string{"TOKEN=hunter2"}, Config: []byte(`{"token":"hunter2"}`),
	}
	if err := c.Store(keyOf(t, c, s), about); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(c.dir.above, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("hunter2")) || strings.Contains(path, "hunter2") {
			t.Errorf("%s has the token", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestCannotOpen(t *testing.T) {
	t.Parallel()
	file := program(t, "file", "no directory")
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(dir); err == nil {
			t.Errorf("%s was opened", dir)
		}
	}
}

// Any number may write and read the same manifests, and see whole ones.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	c, k, _ := filled(t)
	var all sync.WaitGroup
	for range 8 {
		own := open(t, c.dir.above)
		all.Go(func() {
			for range 50 {
				if err := own.Store(k, about); err != nil {
					t.Error(err)
				}
				if got, ok := own.Find(k); !ok || got.Name != about.Name {
					t.Errorf("found %v, %+v", ok, got)
				}
			}
		})
	}
	all.Wait()
	if entries, err := os.ReadDir(filepath.Join(c.dir.above, directoryName)); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// What is read is kept: its time says when it was last used.
func TestUsedIsKept(t *testing.T) {
	t.Parallel()
	c, k, path := filled(t)
	old := time.Now().Add(-maxAge - time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Find(k); !ok {
		t.Fatal("not found")
	}
	c.dir.prune()
	if _, ok := c.Find(k); !ok {
		t.Error("it was removed")
	}
}
