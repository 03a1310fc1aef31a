package roster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/test/require"
)

// No name leads out of the directory of the caches, and no link in it is followed.
func TestPluginCacheStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "caches")
	caches := withCaches(t, dir, "")
	for _, owner := range []string{"", ".", "..", "../x", "a/b", "/x", "a/../../x"} {
		if f := caches.of(owner, "/plugins/x"); f != nil {
			t.Errorf("%q has a cache, %s", owner, f())
		}
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is made before a plugin needs it")
	}
	plain := caches.of("plain", "/plugins/plain")
	got, resolved := plain(), require.Must(filepath.EvalSymlinks(dir))(t)
	if filepath.Dir(got) != resolved || !strings.HasPrefix(filepath.Base(got), "plain-") {
		t.Errorf("the cache is %s", got)
	}
	if err := errors.Join(os.Remove(got), os.Symlink(base, got)); err != nil {
		t.Skip(err)
	}
	got = plain()
	if info, err := os.Lstat(got); err != nil || !info.IsDir() || strings.HasPrefix(got, resolved) || got != plain() {
		t.Errorf("in place of a link: %q, %v", got, err)
	}
	require.NoError(t, caches.sockets.close(t.Context()))
	if _, err := os.Lstat(got); err == nil {
		t.Error("a temporary cache is left")
	}
}

// withCaches has caches of plugins below a directory.
func withCaches(t *testing.T, dir, workspace string) *pluginCaches {
	t.Helper()
	o := Options{Workspace: workspace, PluginCache: &dir}
	o.Plugin.Logger = hclog.NewNullLogger()
	return newPluginCaches(o, &socketDirs{life: t.Context()})
}

// A cache is of one file and one workspace: neither a plugin of the same name elsewhere nor the same plugin
// in another workspace has it.
func TestPluginCacheIsOfPathAndWorkspace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "caches")
	had := map[string]string{}
	for _, c := range [][2]string{{"/a/execution", "/one"}, {"/b/execution", "/one"}, {"/a/execution", "/two"}} {
		caches := withCaches(t, dir, c[1])
		got := caches.of("execution", c[0])()
		if other, ok := had[got]; ok || got == "" || got != caches.of("execution", c[0])() {
			t.Errorf("%s has the cache %q, and so has %s", c, got, other)
		}
		had[got] = c[0] + " in " + c[1]
	}
}
