package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

func removeFile(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
}

// A lock that was there once is wanted: without it nothing new runs, what runs goes on,
// and the fault says what to do. It is over when the lock is back.
func TestLockThatGoesAway(t *testing.T) {
	t.Parallel()
	dir, lockPath := t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	lock := pinAll(t, dir, lockPath)
	seen := 0
	h := newHost(t, host.WithLocks(host.Lock{File: lockPath, Seen: func() { seen++ }}))
	require.Must(h.Load(t.Context(), dir))(t)

	removeFile(t, lockPath)
	assert.ErrorContainsf(t, h.Sync(t.Context(), dir), "is missing", "with nothing to start, the missing lock is not told of")
	plugintest.Deploy(t, dir, "versioned", "2")
	plugintest.Install(t, dir, "named")
	err := h.Sync(t.Context(), dir)
	for _, want := range []string{lockPath + " is missing", "versioned was not upgraded", "named does not run"} {
		assert.ErrorContainsf(t, err, want, "the fault has no %q", want)
	}
	if s := pluginOf(h, "named"); version(t, h) != "1" || s.State != plugin.Refused || s.PID != 0 {
		t.Errorf("without the lock: version %s, %+v", version(t, h), s)
	}
	require.NoError(t, lock.Write(lockPath))
	err = h.Sync(t.Context(), dir)
	if err == nil || strings.Contains(err.Error(), "is missing") || !strings.Contains(err.Error(), lock.Plugins["versioned"].SHA256) {
		t.Errorf("the lock is back: %v", err)
	}
	pinAll(t, dir, lockPath)
	err = h.Sync(t.Context(), dir)
	if s := pluginOf(h, "named"); err != nil || version(t, h) != "2" || s.State != plugin.Ready {
		t.Errorf("what is there is pinned: %v, version %s, %+v", err, version(t, h), s)
	}
	if seen != 1 {
		t.Errorf("it was seen for the first time %d times", seen)
	}
}

// What is at a lock's path and is not a lock keeps everything from running, in a host that
// never saw a good one too.
func TestLockThatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	for what, put := range map[string]func(path string) error{
		"a link that leads nowhere": func(path string) error { return os.Symlink(path+"-target", path) },
		"a directory":               func(path string) error { return os.Mkdir(path, 0o700) },
		"a FIFO":                    func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "toolhost.lock")
		require.NoError(t, put(path))
		h := newHost(t, host.WithLocks(host.Lock{File: path}))
		n, err := h.Load(t.Context(), dir)
		if s := pluginOf(h, "versioned"); n != 0 || err == nil || !strings.Contains(err.Error(), path) || s.State != plugin.Refused {
			t.Errorf("%s: %d tools, %v, %+v", what, n, err, s)
		}
		removeFile(t, path) // it was there
		assert.ErrorContainsf(t, h.RestartPlugin(t.Context(), "versioned"), "is missing", "%s, removed", what)
	}
}

// A lock that others may write to pins nothing, until they may not, which changes nothing
// of its content.
func TestLockThatIsMended(t *testing.T) {
	t.Parallel()
	dir, lockPath := t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	pinAll(t, dir, lockPath)
	chmod := func(mode os.FileMode) {
		t.Helper()
		require.NoError(t, os.Chmod(lockPath, mode))
	}
	chmod(0o666)
	h := newHost(t, host.WithLocks(host.Lock{File: lockPath}))
	if n, err := h.Load(t.Context(), dir); n != 0 || err == nil {
		t.Errorf("%d tools, %v", n, err)
	}
	chmod(0o644)
	if err := h.RestartPlugin(t.Context(), "versioned"); err != nil || version(t, h) != "1" {
		t.Errorf("mended: %v", err)
	}
}

// A lock can be required before anybody has seen it, and the operator can take that back.
func TestLockRequired(t *testing.T) {
	t.Parallel()
	dir, lockPath := t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t, host.WithLocks(host.Lock{File: lockPath, Required: true}))
	if n, err := h.Load(t.Context(), dir); n != 0 || err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("%d tools, %v", n, err)
	}
	require.NoError(t, h.Reconfigure(host.WithLocks()))
	if err := h.RestartPlugin(t.Context(), "versioned"); err != nil || version(t, h) != "1" {
		t.Errorf("taken back: %v", err)
	}
}

// A plugin answers to the locks of its own directory, and to all of them.
func TestLocksOfDirectories(t *testing.T) {
	t.Parallel()
	one, other := plugintest.Dir(t, plugintest.Named), t.TempDir()
	plugintest.Deploy(t, other, "versioned", "1")
	locks := t.TempDir()
	ofOne, ofOther := filepath.Join(locks, "one"), filepath.Join(locks, "other")
	pinAll(t, one, ofOne)
	pinAll(t, other, ofOther)
	nothing := filepath.Join(locks, "nothing")
	require.NoError(t, (&lockfile.Lock{}).Write(nothing))
	here := []host.Lock{{File: ofOne, Dirs: []string{one}}, {File: ofOther, Dirs: []string{other}}}
	h := newHost(t, host.WithLocks(here...))
	if _, err := h.Load(t.Context(), one, other); err != nil {
		t.Errorf("each by its own lock: %v", err)
	}
	stricter := newHost(t, host.WithLocks(append(here, host.Lock{File: nothing, Dirs: []string{other}})...))
	_, err := stricter.Load(t.Context(), one, other)
	if err == nil || !strings.Contains(err.Error(), "versioned does not run") || strings.Contains(err.Error(), "named does not run") {
		t.Errorf("one lock of two says no: %v", err)
	}
	if s := pluginOf(stricter, "named"); s.State == plugin.Refused {
		t.Errorf("the neighbour is %+v", s)
	}
}
