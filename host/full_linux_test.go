package host_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/plugintest"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// fullDisk names the directory on which this test, started again in a mount namespace
// of its own, has a file system with no room left.
const fullDisk = "TOOLHOST_TEST_FULL_DISK"

// On a full disk a lock is the old one, whole, and the error says what to do; what
// would be remembered of plugins is not, and all is as without that.
func TestFullDiskUnderLockAndCache(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(fullDisk); dir != "" {
		onFullDisk(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fullDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) || strings.Contains(string(out), "--- SKIP") {
		t.Skipf("this system gives no file system of its own to a test: %v: %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

func onFullDisk(t *testing.T, disk string) {
	t.Helper()
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skipf("mounting: %v", err)
	}
	path, cache, plugins := filepath.Join(disk, "toolhost.lock"), filepath.Join(disk, "cache"), t.TempDir()
	plugintest.Deploy(t, plugins, "versioned", "1")
	old := pinAll(t, plugins, path)
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(disk, "filler"))

	err := (&lockfile.Lock{Plugins: map[string]lockfile.Entry{"other": old.Plugins["versioned"]}}).Write(path)
	if tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), "make space") {
		t.Errorf("the lock: %v", err)
	}
	if now, err := lockfile.Read(path); err != nil || len(lockfile.Compare(old, now)) > 0 {
		t.Errorf("the old lock: %v, %v", now, err)
	}
	for range 2 {
		h := newHost(t, host.WithCache(cache), host.WithLockFile(path))
		if n, err := h.Load(t.Context(), plugins); n != 2 || err != nil || version(t, h) != "1" {
			t.Errorf("%d tools, %v", n, err)
		}
	}
}

// fill writes until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
