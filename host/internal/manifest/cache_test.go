package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var about = wire.Description{
	Name: "sample", Version: "1.2.3", SDK: "test/1",
	Tools: []tool.Definition{{
		Name: "sample.do", Description: "Does something.", Safety: tool.Cautious, InputSchema: tool.Schema(`{"type":"object"}`),
		Categories: []string{"odd"}, Timeout: tool.Duration(time.Second), RateLimit: &tool.RateLimit{Calls: 1, Period: tool.Duration(time.Hour)},
	}, {
		Name: "sample.wide", Description: "Has <white> space & \u2028 in its \"schemas\".", OutputSchema: tool.Schema("{\n \"type\" : \"object\"}\n"),
		Icons: json.RawMessage(`[ {"src": "https://a.example/<i>.png"} ]`), Meta: json.RawMessage("{\"ui\": {\"a\" : \"<b>\"}}"),
	}},
	ConfigSchema: tool.Schema(`{ }`), Features: []string{"preview"},
	Needs: &tool.Needs{Read: []string{"/usr/<share>"}, Net: []string{"a.example:443"}, Memory: 1<<50 - 1, CPU: 0.1},
}

// That nothing is needed is remembered as something else than that nothing was said.
func TestNeedsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, n := range []*tool.Needs{nil, {}, about.Needs} {
		c, s, _ := filled(t)
		want := about
		want.Needs = n
		require.Must(c.Store(t.Context(), s, want))(t)
		if got, ok := find(t, c, s); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: found %+v, %v", n, got.Needs, ok)
		}
	}
}

// A file that the plugin names belongs to its identity: if it changes, comes or goes, nothing
// is remembered.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	c, s, _ := filled(t)
	named := about
	named.Files = []string{"module.py", filepath.Join(t.TempDir(), "absent.py")}
	module := filepath.Join(filepath.Dir(s.Path), "module.py")
	write := func(path, content string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	store := func() { // as if the files were older
		t.Helper()
		files := namedFiles(s, named.Files)
		for i := range files {
			files[i].File = s.identityOf(files[i].Path)
		}
		require.Must(c.store(t.Context(), s, &record{Description: pack(named), Files: files}))(t)
		if got, ok := find(t, c, s); !ok || !reflect.DeepEqual(got, named) {
			t.Fatalf("found %+v, %v", got, ok)
		}
	}
	write(module, "one")
	require.Must(c.Store(t.Context(), s, named))(t)
	if _, ok := find(t, c, s); ok {
		t.Error("a file that was changed a moment ago is believed to be the one that the plugin read")
	}
	for name, change := range map[string]func(){
		"changed": func() { write(module, "three") },
		"removed": func() { _ = os.Remove(module) },
		"added":   func() { write(named.Files[1], "") },
	} {
		write(module, "one")
		store()
		change()
		if _, ok := find(t, c, s); ok {
			t.Errorf("%s: the description is still remembered", name)
		}
	}
}

func open(t *testing.T, dir string) *Cache {
	t.Helper()
	c := require.Must(Open(dir))(t)
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

// pathOf is the file of a subject.
func pathOf(c *Cache, s Subject) string { return filepath.Join(c.dir.Above, directoryName, s.name()) }

func find(t *testing.T, c *Cache, s Subject) (wire.Description, bool) {
	t.Helper()
	about, _, ok := c.Find(t.Context(), s)
	return about, ok
}

// filled is a cache with one manifest, and its file.
func filled(t *testing.T) (c *Cache, s Subject, path string) {
	t.Helper()
	c = open(t, filepath.Join(t.TempDir(), "cache"))
	s = Subject{Path: program(t, "sample", "binary")}
	require.Must(c.Store(t.Context(), s, about))(t)
	return c, s, pathOf(c, s)
}

func TestStoreAndFind(t *testing.T) {
	t.Parallel()
	c, s, path := filled(t)
	for _, again := range []*Cache{c, open(t, c.dir.Above)} {
		if got, ok := find(t, again, s); !ok || !reflect.DeepEqual(got, about) {
			t.Errorf("found %v, %+v", ok, got)
		}
	}
	for p, want := range map[string]os.FileMode{c.dir.Above: 0o700, filepath.Dir(path): 0o700, path: 0o600} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", p, info.Mode(), err, want)
		}
	}
	c.Forget(s)
	if _, ok := find(t, c, s); ok {
		t.Error("it was not forgotten")
	}
	c.Forget(s) // which does no harm
}

// A file that is not as it was written counts as missing, and can be written again.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"empty":          func([]byte) []byte { return nil },
		"shorter":        func(b []byte) []byte { return b[:len(b)-2] },
		"torn":           func(b []byte) []byte { clear(b[len(b)/2:]); return b },
		"longer":         func(b []byte) []byte { return append(b, 0) },
		"first byte":     func(b []byte) []byte { b[0] ^= 1; return b },
		"something else": func([]byte) []byte { return []byte(strings.Repeat("hello ", 100)) },
		"too large":      func(b []byte) []byte { return append(b, bytes.Repeat([]byte(" "), MaxSize)...) },
		"empty object":   func([]byte) []byte { return []byte("{}") },
		"short digest":   func(b []byte) []byte { return bytes.Replace(b, []byte(`"sha256":"`), []byte(`"sha256":"","x":"`), 1) },
		"another digest": func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.Replace(b, []byte(`"sha256":"`), []byte(`"sha256":"`+hash+`","x":"`), 1), []byte(`"file":{`), []byte(`"y":{`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s, path := filled(t)
			content := require.Must(os.ReadFile(path))(t)
			require.NoError(t, os.WriteFile(path, damage(content), 0o600))
			if got, ok := find(t, c, s); ok {
				t.Errorf("found %+v", got)
			}
			require.Must(c.Store(t.Context(), s, about))(t)
			if _, ok := find(t, c, s); !ok {
				t.Error("it was not written again")
			}
		})
	}
}

// A manifest answers under its own name only.
func TestInAnothersPlace(t *testing.T) {
	t.Parallel()
	c, _, path := filled(t)
	other := Subject{Path: program(t, "other", "binary")}
	require.NoError(t, os.Rename(path, pathOf(c, other)))
	if got, ok := find(t, c, other); ok {
		t.Errorf("found %+v", got)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	c, s, _ := filled(t)
	huge := about
	huge.Version = strings.Repeat("x", MaxSize)
	if _, err := c.Store(t.Context(), s, huge); err == nil {
		t.Error("it was stored")
	}
}

// Everything that a description may depend on makes another file, or one that does not hold.
func TestSubject(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	path := program(t, "sample", "binary")
	base := Subject{Path: path, Args: []string{"a", "b"}, Env: []string{"A=1", "B=2"}, Config: []byte(`{}`), Host: "1"}
	require.Must(c.Store(t.Context(), base, about))(t)
	for name, change := range map[string]func(*Subject){
		"file":          func(s *Subject) { s.Path = program(t, "sample", "binary") },
		"arguments":     func(s *Subject) { s.Args = []string{"a"} },
		"joined":        func(s *Subject) { s.Args = []string{"ab"} },
		"environment":   func(s *Subject) { s.Env = []string{"A=1", "B=3"} },
		"moved":         func(s *Subject) { s.Args, s.Env = nil, []string{"a", "b", "A=1", "B=2"} },
		"configuration": func(s *Subject) { s.Config = []byte(`{"x":1}`) },
		"host":          func(s *Subject) { s.Host = "2" },
	} {
		s := base
		change(&s)
		if _, ok := find(t, c, s); ok || s.name() == base.name() {
			t.Errorf("%s: the name is the same", name)
		}
	}
	if _, ok := find(t, c, base); !ok {
		t.Error("not found")
	}
	require.NoError(t, os.WriteFile(path, []byte("binary, newer"), 0o600))
	if _, ok := find(t, c, base); ok {
		t.Error("found for another binary")
	}
	missing := Subject{Path: filepath.Join(t.TempDir(), "missing")}
	if _, err := c.Store(t.Context(), missing, about); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing binary: %v", err)
	}
}

// What JSON would change is not remembered, as it would not be what the plugin says.
func TestNotJSON(t *testing.T) {
	t.Parallel()
	c, s, _ := filled(t)
	odd := about
	odd.Version = "\xff"
	if _, err := c.Store(t.Context(), s, odd); err == nil {
		t.Error("it was stored")
	}
}

// Nothing that a plugin is given can be read in the directory.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "cache"))
	s := Subject{
		Path: program(t, "sample", "binary"), Args: []string{"--token=hunter2"}, Env: []string{"TOKEN=hunter2"}, Config: []byte(`{"token":"hunter2"}`),
	}
	require.Must(c.Store(t.Context(), s, about))(t)
	files := 0
	err := filepath.WalkDir(c.dir.Above, func(path string, e os.DirEntry, err error) error {
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
	c, s, _ := filled(t)
	var all sync.WaitGroup
	for range 8 {
		own := open(t, c.dir.Above)
		all.Go(func() {
			for range 50 {
				if _, err := own.Store(t.Context(), s, about); err != nil {
					t.Error(err)
				}
				if got, ok := find(t, own, s); !ok || got.Name != about.Name {
					t.Errorf("found %v, %+v", ok, got)
				}
			}
		})
	}
	all.Wait()
	if entries, err := os.ReadDir(filepath.Join(c.dir.Above, directoryName)); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// What is read is kept: its time says when it was last used.
func TestUsedIsKept(t *testing.T) {
	t.Parallel()
	c, s, path := filled(t)
	old := time.Now().Add(-maxAge - time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	if _, ok := find(t, c, s); !ok {
		t.Fatal("not found")
	}
	c.dir.prune()
	if _, ok := find(t, c, s); !ok {
		t.Error("it was removed")
	}
}
