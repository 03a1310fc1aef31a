package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// On a full disk a lock is the old one, whole, and the error says what to do; what
// would be remembered of plugins is not, and all is as without that.
func TestFullDiskUnderLockAndCache(t *testing.T) {
	t.Parallel()
	fulldisk.Run(t, lockAndCacheOn)
}

func lockAndCacheOn(t *testing.T, disk string) {
	t.Helper()
	path, cache, plugins := filepath.Join(disk, "toolhost.lock"), filepath.Join(disk, "cache"), t.TempDir()
	plugintest.Deploy(t, plugins, "versioned", "1")
	old := pinAll(t, plugins, path)
	require.NoError(t, os.Mkdir(cache, 0o700))
	fill(t, filepath.Join(disk, "filler"))

	err := (&lockfile.Lock{Plugins: map[string]lockfile.Entry{"other": old.Plugins["versioned"]}}).Write(path)
	if tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), "make space") {
		t.Errorf("the lock: %v", err)
	}
	if now, err := lockfile.Read(path); err != nil || len(lockfile.Compare(old, now)) > 0 {
		t.Errorf("the old lock: %v, %v", now, err)
	}
	for range 2 {
		h := newHost(t, host.WithCache(cache), host.WithLocks(host.Lock{File: path}))
		if n, err := h.Load(t.Context(), plugins); n != 2 || err != nil || version(t, h) != "1" {
			t.Errorf("%d tools, %v", n, err)
		}
	}
}

// fill writes until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
