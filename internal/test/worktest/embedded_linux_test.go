package worktest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A host that is made as README, the tutorial and the examples make it has all of the Go tools, whatever the
// user has of caches.
func TestEmbeddedCaches(t *testing.T) {
	shippedPlugins(t) // built with the caches that there are
	for name, prepare := range map[string]func(t *testing.T, caches string){
		"none": func(*testing.T, string) {},
		"of another user": func(t *testing.T, caches string) {
			t.Helper()
			dir := filepath.Join(caches, "toolhost", "plugins")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			if err := os.Chown(dir, 61234, 61234); err != nil {
				t.Skip(err)
			}
		},
		"no home": func(t *testing.T, _ string) {
			t.Helper()
			t.Setenv("HOME", "")
			t.Setenv("XDG_CACHE_HOME", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			caches := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", caches)
			prepare(t, caches)
			embedded(t, name == "none")
			if made, err := os.ReadDir(filepath.Join(caches, "toolhost", "plugins")); (len(made) > 0) != (name == "none") {
				t.Errorf("caches: %v, %v", made, err)
			}
		})
	}
}

// On a full disk, the caches are elsewhere.
func TestEmbeddedOnFullDisk(t *testing.T) {
	fulldisk.Run(t, func(t *testing.T, disk string) {
		t.Helper()
		shippedPlugins(t)
		t.Setenv("XDG_CACHE_HOME", disk)
		filler := require.Must(os.Create(filepath.Join(disk, "filler")))(t)
		for err := error(nil); err == nil; {
			_, err = filler.Write(make([]byte, 4096))
		}
		require.NoError(t, filler.Close())
		embedded(t, false)
	})
}

// embedded asks the tools of a host without options about a module, and if it compiles, evaluates a form.
func embedded(t *testing.T, compiles bool) {
	t.Helper()
	root, shipped := t.TempDir(), shippedPlugins(t)
	temporary := require.Must(os.MkdirTemp("", "embed-"))(t) // with a short name, as sockets are there
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	t.Setenv("TMPDIR", temporary)
	for name, content := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "a.go": "// Package m is a module.\npackage m\n\n// V is one.\nconst V = 1\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	h := require.Must(host.New(host.WithRoot(root)))(t)
	for _, name := range []string{"introspection", "execution"} {
		require.Must(h.Load(t.Context(), filepath.Join(shipped.plugins, name)))(t)
	}
	s := h.Session(host.WithGrants(tool.FSRead, tool.Exec), host.WithApprover(yes))
	calls := [][3]string{
		{"list_packages", `{}`, `"example.com/m"`}, {"describe_symbol", `{"symbol":"m.V"}`, "V is one"},
		{"check_package", `{}`, ""}, {"eval_form", `{"form":"1+1"}`, "2"},
	}
	if !compiles {
		calls = calls[:2]
	}
	for _, c := range calls {
		out := s.Call(t.Context(), tool.Call{Name: c[0], Arguments: []byte(c[1])})
		if !out.Success || !strings.Contains(out.Content, c[2]) {
			t.Errorf("%s %s: %+v", c[0], c[1], out)
		}
	}
	require.NoError(t, h.Close(context.Background()))
	if left := require.Must(filepath.Glob(filepath.Join(temporary, "toolhost-*")))(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
