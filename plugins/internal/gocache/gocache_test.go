package gocache

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// export has the go command compile a package, and returns where the result is.
func export(t *testing.T, dir, pkg string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-f", "{{.Export}}", pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil || faults.Len() > 0 {
		t.Fatalf("%v\n%s", err, &faults)
	}
	return strings.TrimSpace(string(out))
}

// module makes one with a package that imports nothing.
func module(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.test/p\n\ngo 1.24\n", "p.go": "package p\n\n" + source} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// What the user has compiled is used at its place, and what is compiled is kept apart.
func TestUse(t *testing.T) {
	home, own := t.TempDir(), t.TempDir()
	user := filepath.Join(home, ".cache", "go-build")
	known, unknown := module(t, "func F() int { return 1 }"), module(t, "func F() int { return 2 }")
	if at := export(t, known, ".", "GOCACHE="+user, "GOCACHEPROG="); !strings.HasPrefix(at, user) {
		t.Fatalf("the user's is at %s", at)
	}
	before := files(t, user)

	t.Setenv("HOME", home)
	t.Setenv("GOCACHE", own)
	t.Setenv("GOCACHEPROG", "")
	if Use(); !strings.Contains(os.Getenv("GOCACHEPROG"), word) {
		t.Skip("not used on this system")
	}
	if at := export(t, known, "."); !strings.HasPrefix(at, user) {
		t.Errorf("what the user has compiled is at %s", at)
	}
	for range 2 {
		if at := export(t, unknown, "."); !strings.HasPrefix(at, own) {
			t.Errorf("what was not compiled before is at %s", at)
		}
	}
	assert.EqualSlicesf(t, files(t, user), before, "the user's cache has changed")
	if at := export(t, unknown, ".", "GOCACHEPROG="); !strings.HasPrefix(at, own) {
		t.Errorf("the go command's own cache does not know what was put: %s", at)
	}
}

// What a cache has of broken entries is compiled again.
func TestBrokenEntries(t *testing.T) {
	t.Parallel()
	s := store(t.TempDir())
	action, id := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	path := require.Must(s.put(action, id, 5, strings.NewReader("hello")))(t)
	if o, ok := s.get(action); !ok || o.path != path || o.size != 5 {
		t.Errorf("got %+v, %v", o, ok)
	}
	if _, err := s.put(id, id, 6, strings.NewReader("short")); err == nil {
		t.Error("a body that ends early is kept")
	}
	for _, line := range []string{"", "v1", "v2 x y 5 1", "v1 " + strings.Repeat("01", 32) + " zz 5 1", "v1 " + strings.Repeat("01", 32) + " " + strings.Repeat("02", 32) + " 4 1"} {
		require.NoError(t, os.WriteFile(s.name(action, "a"), []byte(line), 0o600))
		if _, ok := s.get(action); ok {
			t.Errorf("%q is an entry", line)
		}
	}
}
