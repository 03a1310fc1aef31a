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
	r := &Roster{pluginCache: openPluginCache(dir, hclog.NewNullLogger()), log: hclog.NewNullLogger()}
	for _, owner := range []string{"", ".", "..", "../x", "a/b", "/x", "a/../../x"} {
		if f := r.cacheOf(owner, "/plugins/x"); f != nil {
			t.Errorf("%q has a cache, %s", owner, f())
		}
	}
	resolved := require.Must(filepath.EvalSymlinks(dir))(t)
	plain := r.cacheOf("plain", "/plugins/plain")
	got := plain()
	if filepath.Dir(got) != resolved || !strings.HasPrefix(filepath.Base(got), "plain-") {
		t.Errorf("the cache is %s", got)
	}
	if err := errors.Join(os.Remove(got), os.Symlink(base, got)); err != nil {
		t.Skip(err)
	}
	if got := plain(); got != "" {
		t.Errorf("a link is a cache: %s", got)
	}
}

// A cache is of one file and one workspace: neither a plugin of the same name elsewhere nor the same plugin
// in another workspace has it.
func TestPluginCacheIsOfPathAndWorkspace(t *testing.T) {
	t.Parallel()
	dir := openPluginCache(filepath.Join(t.TempDir(), "caches"), hclog.NewNullLogger())
	had := map[string]string{}
	for _, c := range [][2]string{{"/a/execution", "/one"}, {"/b/execution", "/one"}, {"/a/execution", "/two"}} {
		r := &Roster{pluginCache: dir, log: hclog.NewNullLogger(), opts: Options{Workspace: c[1]}}
		got := r.cacheOf("execution", c[0])()
		if other, ok := had[got]; ok || got == "" || got != r.cacheOf("execution", c[0])() {
			t.Errorf("%s has the cache %q, and so has %s", c, got, other)
		}
		had[got] = c[0] + " in " + c[1]
	}
}
