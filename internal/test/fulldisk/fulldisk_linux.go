// Package fulldisk gives a test a file system with little room, all its own.
package fulldisk

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// variable names the directory for the test that was started again.
const variable = "TOOLHOST_TEST_FULL_DISK"

// Run starts the test's process again, in a mount namespace of its own, for this test
// alone, and has f run there on a file system of 64 KiB. It needs no root. The test is
// skipped where the system gives it none.
func Run(t *testing.T, f func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
			t.Skipf("mounting: %v", err)
		}
		f(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), variable+"="+t.TempDir())
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
