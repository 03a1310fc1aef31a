package escape_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Variables by which this test's binary is told what its parent has made, when it runs again
// as another user.
const (
	builtVariable  = "ESCAPE_TEST_PROBE"
	setuidVariable = "ESCAPE_TEST_SETUID"
)

// built is a directory with the probe, alone, so that it can be a plugin directory.
var built string

func TestMain(m *testing.M) {
	if err := simulate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if built = os.Getenv(builtVariable); built != "" {
		os.Exit(m.Run())
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp(ground(), "escape-probe-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	built = filepath.Join(dir, "plugins")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(built, 0o755)); err != nil { //nolint:gosec // another user has to get there
		return 1, err
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", built+string(filepath.Separator), "./probe") //nolint:noctx // before all tests
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	if os.Geteuid() == 0 {
		setuid := filepath.Join(dir, "setuid")
		const owner = 65533 // who is neither root nor the other user
		if err := errors.Join(copyFile(probe(), setuid), os.Chown(setuid, owner, owner), os.Chmod(setuid, 0o755|os.ModeSetuid), os.Setenv(setuidVariable, setuid)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

func probe() string { return filepath.Join(built, "probe") }

// ground is where worlds are made: not in /tmp, as that is another one in a sandbox.
func ground() string {
	if _, err := os.Stat("/var/tmp"); err == nil {
		return "/var/tmp"
	}
	return os.TempDir()
}

// copyFile copies a program. What this process forks meanwhile would have it open for writing,
// and then it cannot be run.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(to, text, 0o755) //nolint:gosec // a program
}
