package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fullDisk names the directory in which this test, started again in a mount
// namespace of its own, puts a file system that has no room.
const fullDisk = "TOOLHOST_TEST_FULL_DISK"

func TestFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(fullDisk); dir != "" {
		onFullDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
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

func onFullDisk(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting: %v", err)
	}
	put(t, filepath.Join(dir, "file"), "old")
	ws, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.Close() }()
	large := strings.Repeat("x", 1<<20)
	for _, name := range []string{"file", "new"} {
		for what, run := range map[string]func(context.Context) error{
			"Write":  func(ctx context.Context) error { _, err := ws.Write(ctx, name, strings.NewReader(large)); return err },
			"Change": func(ctx context.Context) error { _, err := ws.Change(ctx, name, becomes(large)); return err },
		} {
			err := run(t.Context())
			wantError(t, err, name+": no space left on device")
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	if got := content(t, filepath.Join(dir, "file")); got != "old" {
		t.Errorf("file = %q", got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Error("new was made")
	}
	wantNoTemp(t, dir)
}
