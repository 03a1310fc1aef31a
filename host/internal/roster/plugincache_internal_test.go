package roster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// No name leads out of the directory of the caches, and no link in it is followed.
func TestPluginCacheStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "caches")
	r := &Roster{pluginCache: openPluginCache(dir, hclog.NewNullLogger()), log: hclog.NewNullLogger()}
	for _, owner := range []string{"", ".", "..", "../x", "a/b", "/x", "a/../../x"} {
		if f := r.cacheOf(owner); f != nil {
			t.Errorf("%q has a cache, %s", owner, f())
		}
	}
	if err := os.Symlink(base, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if got := r.cacheOf("link")(); got != "" {
		t.Errorf("a link is a cache: %s", got)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.cacheOf("plain")(); got != filepath.Join(resolved, "plain") {
		t.Errorf("the cache is %s", got)
	}
}
