package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A lock in the root counts with its first content: for the process, or as long as the file says that
// remembers it. Another content waits, and what was read before counts on.
func TestLockInTheRootWaits(t *testing.T) {
	t.Parallel()
	for name, remembered := range map[string]func() []host.Option{
		"for the process": func() []host.Option { return nil },
		"in a file":       func() []host.Option { return []host.Option{host.WithTrusted(filepath.Join(t.TempDir(), "trusted"))} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, dir := t.TempDir(), t.TempDir()
			plugintest.Deploy(t, dir, "versioned", "1")
			path := filepath.Join(root, "toolhost.lock")
			pinAll(t, dir, path)
			opts := append(remembered(), host.WithRoot(root), host.WithLocks(host.Lock{File: path}))
			h := newHost(t, opts...)
			require.Must(h.Load(t.Context(), dir))(t)

			// Another binary, and a lock of it in the place of the other: as a plugin would do it.
			plugintest.Deploy(t, dir, "versioned", "2")
			pinAll(t, dir, path+".new")
			require.NoError(t, os.Rename(path+".new", path))
			waits := func(what string, err error) {
				t.Helper()
				assert.ErrorContains(t, err, what)
			}
			serves := func(want string) {
				t.Helper()
				if got := version(t, h); got != want {
					t.Errorf("version %s serves, want %s", got, want)
				}
			}
			waits("pinned is", h.Sync(t.Context(), dir)) // by the lock that was read before
			serves("1")
			waiting := h.Status().Waiting
			if len(waiting) != 1 || waiting[0].File != path || len(waiting[0].InForce) == 0 || len(h.Status().Faults) != 1 {
				t.Fatalf("%+v wait, and the faults are %v", waiting, h.Status().Faults)
			}
			waits("Host.TrustLock for "+path, h.Status().Faults[0])
			_, err := newHost(t, opts...).Load(t.Context(), dir)
			waits(path+" is not in effect as it is now", err)

			require.NoError(t, h.Reconfigure(host.WithLocks(host.Lock{File: path}))) // which is not a word for its content
			waits("pinned is", h.Sync(t.Context(), dir))
			require.NoError(t, h.TrustLock(path, waiting[0].SHA256))
			require.NoError(t, h.Sync(t.Context(), dir))
			serves("2")
			if len(h.Status().Waiting) != 0 || len(h.Status().Faults) != 0 {
				t.Errorf("%+v wait, and the faults are %v", h.Status().Waiting, h.Status().Faults)
			}
			require.Must(newHost(t, opts...).Load(t.Context(), dir))(t)
		})
	}
}

// One that was found in the root does not count with its first content either; one elsewhere does.
func TestLockThatWasFound(t *testing.T) {
	t.Parallel()
	root, dir := t.TempDir(), plugintest.Dir(t, plugintest.Named)
	path := filepath.Join(root, "toolhost.lock")
	pinAll(t, dir, path)
	_, err := newHost(t, host.WithRoot(root), host.WithLocks(host.Lock{File: path, Found: true})).Load(t.Context(), dir)
	assert.ErrorContains(t, err, "Host.TrustLock for "+path)
	require.Must(newHost(t, host.WithRoot(t.TempDir()), host.WithLocks(host.Lock{File: path, Found: true})).Load(t.Context(), dir))(t)
	damaged := filepath.Join(t.TempDir(), "trusted")
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
	_, err = newHost(t, host.WithRoot(root), host.WithLocks(host.Lock{File: path}), host.WithTrusted(damaged)).Load(t.Context(), dir)
	assert.ErrorContains(t, err, damaged)
}
