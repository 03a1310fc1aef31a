package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// pinAll writes a lock of what is in a directory now.
func pinAll(t *testing.T, dir, path string) *lockfile.Lock {
	t.Helper()
	var r host.Recorder
	h := newHost(t, host.WithRecorder(&r))
	require.Must(h.Load(t.Context(), dir))(t)
	lock := r.Lock()
	require.NoError(t, lock.Write(path))
	return lock
}

// What is pinned runs, from a copy that cannot be written to. Anything else does not,
// and the refusal says what was expected, what was found, and how it is accepted.
func TestPins(t *testing.T) {
	t.Parallel()
	dir, lockPath := plugintest.Dir(t, plugintest.Named), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	lock := pinAll(t, dir, lockPath)
	if names := strings.Join(lock.Names(), " "); names != "named versioned" || lock.Plugins["versioned"].Version != "1" {
		t.Fatalf("the lock has %q: %+v", names, lock)
	}

	h := newHost(t, host.WithLocks(host.Lock{File: lockPath}))
	require.Must(h.Load(t.Context(), dir))(t)
	if runtime.GOOS == "linux" {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pluginOf(h, "named").PID))
		if err != nil || !strings.HasPrefix(exe, "/memfd:") {
			t.Errorf("a program runs from %q, %v", exe, err)
		}
	}
	if version(t, h) != "1" { // a script
		t.Error("it is another version")
	}

	plugintest.Deploy(t, dir, "versioned", "2")
	plugintest.Install(t, dir, "named-new")
	err := h.Sync(t.Context(), dir)
	for _, want := range []string{"versioned was not upgraded", lock.Plugins["versioned"].SHA256, "write the lock again", "named-new does not run"} {
		assert.ErrorContainsf(t, err, want, "the refusal has no %q", want)
	}
	if s := pluginOf(h, "named-new"); version(t, h) != "1" || s.State != plugin.Refused || s.PID != 0 {
		t.Errorf("after the refusals: version %s, %+v", version(t, h), s)
	}
	pinAll(t, dir, lockPath)
	if err := h.Sync(t.Context(), dir); err != nil || version(t, h) != "2" {
		t.Errorf("what is accepted does not run: %v, version %s", err, version(t, h))
	}
}

// The same bytes may say something else of themselves, as their version or tools hang
// on the environment; a lock that cannot be read pins nothing.
func TestPinsOfDefinitions(t *testing.T) {
	t.Parallel()
	dir, lockPath := t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	lock := pinAll(t, dir, lockPath)
	for what, change := range map[string]func(*lockfile.Entry){
		"definitions": func(e *lockfile.Entry) { e.Definitions = strings.Repeat("0", 64) },
		"version":     func(e *lockfile.Entry) { e.Version = "other" },
		"binary":      func(e *lockfile.Entry) { e.SHA256 = strings.Repeat("0", 64) },
	} {
		e := lock.Plugins["versioned"]
		change(&e)
		path := filepath.Join(t.TempDir(), "toolhost.lock")
		require.NoError(t, (&lockfile.Lock{Plugins: map[string]lockfile.Entry{"versioned": e}}).Write(path))
		h := newHost(t, host.WithLocks(host.Lock{File: path}))
		if n, err := h.Load(t.Context(), dir); n != 0 || err == nil || !strings.Contains(err.Error(), "write the lock again") {
			t.Errorf("%s: %d tools, %v", what, n, err)
		}
	}
	for what, text := range map[string]string{"garbage": "what?\n", "empty": "", "half": "format 1\n\nversioned bin"} {
		path := filepath.Join(t.TempDir(), "toolhost.lock")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		h := newHost(t, host.WithLocks(host.Lock{File: path}))
		if n, err := h.Load(t.Context(), dir); n != 0 || tool.CodeOf(err) == "" {
			t.Errorf("a lock that is %s: %d tools, %v", what, n, err)
		}
	}
	none := newHost(t, host.WithLocks(host.Lock{File: filepath.Join(t.TempDir(), "toolhost.lock")}))
	if n, err := none.Load(t.Context(), dir); n != 2 || err != nil {
		t.Errorf("no lock: %d tools, %v", n, err)
	}
}

// What is remembered of a plugin is listed only where the lock has it.
func TestPinsOfWhatIsRemembered(t *testing.T) {
	t.Parallel()
	dir, cache, lockPath := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock")
	plugintest.Deploy(t, dir, "versioned", "1")
	load := func(path string) (*host.Host, error) {
		h := newHost(t, host.WithCache(cache), host.WithLocks(host.Lock{File: path}))
		_, err := h.Load(t.Context(), dir)
		return h, err
	}
	require.Must(load(filepath.Join(t.TempDir(), "none")))(t)
	pinAll(t, dir, lockPath)
	h, err := load(lockPath)
	if s := pluginOf(h, "versioned"); err != nil || s.State != plugin.Idle || h.Len() != 2 {
		t.Errorf("pinned: %v, %+v", err, s)
	}
	empty := filepath.Join(t.TempDir(), "toolhost.lock")
	require.NoError(t, (&lockfile.Lock{}).Write(empty))
	if h, err := load(empty); err == nil || h.Len() != 0 {
		t.Errorf("not pinned: %v, %d tools", err, h.Len())
	}
}
