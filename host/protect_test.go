package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What rules the host is told to plugins when they are configured: what the host knows
// and what the program says, with links resolved.
func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Snoop)
	root, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(root, "link")))
	cache, lock := filepath.Join(root, "cache"), filepath.Join(root, "toolhost.lock")
	h := newHost(t, host.WithRoot(root), host.WithCache(cache), host.WithLocks(host.Lock{File: lock}), host.WithProtected(filepath.Join(root, "link", "conf")))
	require.Must(h.Load(t.Context(), dir))(t)
	self := require.Must(os.Executable())(t)
	for _, want := range []string{cache, lock, dir, filepath.Join(elsewhere, "conf"), filepath.Join(root, "link"), self} {
		if got := h.Protected(); !slices.Contains(got, want) {
			t.Errorf("%s is not protected: %q", want, got)
		}
	}
	res, err := h.Execute(t.Context(), tool.Call{Name: "snoop.look"})
	require.NoError(t, err)
	var told plugintest.Seen
	err = json.Unmarshal(res.Structured, &told)
	if err != nil || !slices.Equal(told.Protected, h.Protected()) || !slices.Equal(told.Refused, told.Protected) {
		t.Errorf("the plugin is told %q and refuses %q, %v; want %q", told.Protected, told.Refused, err, h.Protected())
	}
}
