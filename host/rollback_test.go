package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// keeps waits until the binary that serves is kept.
func keeps(t *testing.T, h *host.Host, version string) {
	t.Helper()
	require.Eventually(t, "version "+version+" is kept", func() bool {
		kept := pluginOf(h, "versioned").Kept
		return len(kept) > 0 && kept[0].Version == version && kept[0].Current
	})
}

// deploys puts versions in a plugin's place, one after the other.
func deploys(t *testing.T, h *host.Host, dir string, versions ...string) {
	t.Helper()
	for _, v := range versions {
		plugintest.Deploy(t, dir, "versioned", v)
		require.NoError(t, h.Sync(t.Context(), dir))
		keeps(t, h, v)
	}
}

// A plugin whose newer file does not start serves on from the copy of the last that did:
// after its process has ended, in a later host, and in one without a cache.
func TestFailedUpgradeServesOn(t *testing.T) {
	t.Parallel()
	dir, kept, cache := t.TempDir(), t.TempDir(), t.TempDir()
	opts := []host.Option{host.WithState(kept), host.WithCache(cache), host.WithDefaults(func(all *plugin.Settings) {
		all.IdleTimeout = 50 * time.Millisecond
	})}
	h := newHost(t, opts...)
	deploys(t, h, dir, "1")
	plugintest.Deploy(t, dir, "versioned", "2-broken")
	if err := h.Sync(t.Context(), dir); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Fatalf("Sync: %v", err)
	}
	for range 2 {
		require.Eventually(t, "it is idle", func() bool { return pluginOf(h, "versioned").State == plugin.Idle })
		assert.Equalf(t, version(t, h), "1", "another version answers")
	}
	if err := h.RestartPlugin(t.Context(), "versioned"); tool.CodeOf(err) != tool.CodeUnavailable || version(t, h) != "1" {
		t.Errorf("restarted: %v", err)
	}
	for _, opts := range [][]host.Option{opts, opts[:1]} {
		h := newHost(t, opts...)
		n, err := h.Load(t.Context(), dir)
		if n != 2 || tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "runs on as it was") || version(t, h) != "1" {
			t.Errorf("a later host: %d tools, %v", n, err)
		}
		if s := pluginOf(h, "versioned"); !strings.Contains(s.Upgrade, "this version is broken") || s.Version != "1" || s.RolledBack != "" {
			t.Errorf("a later host: %+v", s)
		}
		deploys(t, h, dir, "3")
		if s := pluginOf(h, "versioned"); s.Upgrade != "" || version(t, h) != "3" {
			t.Errorf("after a good file: %+v", s)
		}
		deploys(t, h, dir, "1")
		plugintest.Deploy(t, dir, "versioned", "2-broken")
	}
}

// The operator goes back, step by step, and later hosts too, until the file is another one
// or the plugin is restarted.
func TestRollback(t *testing.T) {
	t.Parallel()
	dir, opt, cache := t.TempDir(), host.WithState(t.TempDir()), host.WithCache(t.TempDir())
	h := newHost(t, opt, cache)
	deploys(t, h, dir, "0", "1", "2", "3") // the first is one too many
	back := func(want string) {
		t.Helper()
		require.NoError(t, h.RollbackPlugin(t.Context(), "versioned"))
		s := pluginOf(h, "versioned")
		i := slices.IndexFunc(s.Kept, func(b plugin.KeptBinary) bool { return b.Current })
		if version(t, h) != want || !strings.Contains(s.RolledBack, "version "+want) || len(s.Kept) != 3 || s.Kept[i].Version != want {
			t.Errorf("not version %s: %+v", want, s)
		}
	}
	back("2")
	back("1")
	if err := h.RollbackPlugin(t.Context(), "versioned"); tool.CodeOf(err) != tool.CodeUnavailable || version(t, h) != "1" {
		t.Errorf("with no earlier binary: %v", err)
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "versioned"), now, now); err != nil { // the same file
		t.Fatal(err)
	}
	if err := h.Sync(t.Context(), dir); err != nil || version(t, h) != "1" {
		t.Errorf("after a look: %v", err)
	}
	h = newHost(t, opt, cache)
	require.Must(h.Load(t.Context(), dir))(t)
	if version(t, h) != "1" || pluginOf(h, "versioned").RolledBack == "" {
		t.Errorf("a later host: %+v", pluginOf(h, "versioned"))
	}
	if err := h.RestartPlugin(t.Context(), "versioned"); err != nil || version(t, h) != "3" || pluginOf(h, "versioned").RolledBack != "" {
		t.Errorf("restarted: %v, %+v", err, pluginOf(h, "versioned"))
	}
	back("2")
	deploys(t, h, dir, "4")
	if s := pluginOf(h, "versioned"); version(t, h) != "4" || s.RolledBack != "" {
		t.Errorf("with a new file: %+v", s)
	}
	h = newHost(t, opt)
	require.Must(h.Load(t.Context(), dir))(t)
	if version(t, h) != "4" {
		t.Errorf("a later host: %+v", pluginOf(h, "versioned"))
	}
}

// A copy that is not what was kept does not run, nor does one that is not as pinned.
func TestKeptBinariesAreChecked(t *testing.T) {
	t.Parallel()
	dir, kept := t.TempDir(), t.TempDir()
	h := newHost(t, host.WithState(kept))
	one, two := filepath.Join(t.TempDir(), "one.lock"), filepath.Join(t.TempDir(), "two.lock")
	deploys(t, h, dir, "1")
	pinAll(t, dir, one)
	deploys(t, h, dir, "2")
	pinAll(t, dir, two)
	of := pluginOf(h, "versioned").Kept
	at := func(i int) string { return filepath.Join(kept, "binaries", of[i].SHA256) }

	pinned := newHost(t, host.WithState(kept), host.WithLocks(host.Lock{File: two}))
	require.Must(pinned.Load(t.Context(), dir))(t)
	if err := pinned.RollbackPlugin(t.Context(), "versioned"); err == nil || !strings.Contains(err.Error(), "write the lock again") || version(t, pinned) != "2" {
		t.Errorf("a copy that is not pinned: %v", err)
	}
	// The file is another one, and the pinned one is kept: it serves.
	plugintest.Deploy(t, dir, "versioned", "3")
	pinned = newHost(t, host.WithState(kept), host.WithLocks(host.Lock{File: one}))
	if n, err := pinned.Load(t.Context(), dir); n != 2 || err == nil || version(t, pinned) != "1" {
		t.Errorf("the pinned copy: %d tools, %v", n, err)
	}

	evil := plugintest.Script(t, "6") // of the same size
	require.NoError(t, os.Remove(at(1)))
	if err := os.WriteFile(at(1), evil, 0o500); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	err := h.RollbackPlugin(t.Context(), "versioned")
	if err == nil || version(t, h) != "2" {
		t.Errorf("a copy that was exchanged: %v", err)
	}
}
