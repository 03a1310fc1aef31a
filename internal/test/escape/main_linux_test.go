package escape_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// Variables by which this test's binary is told what its parent has made, when it runs again
// as another user.
const (
	builtVariable  = "ESCAPE_TEST_PROBE"
	setuidVariable = "ESCAPE_TEST_SETUID"
)

// built is a directory with the probe, alone, so that it can be a plugin directory, and next to it
// one that runs as its owner.
var built struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	if err := simulate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := plugin.Adopt(); err != nil { // as the command does
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv("CGO_ENABLED", "0") // the probe runs where there are no libraries
	built.dir = os.Getenv(builtVariable)
	ours := built.dir == ""
	code := m.Run()
	if ours && built.dir != "" {
		if err := os.RemoveAll(filepath.Dir(built.dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func plugins(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		return built.dir
	}
	program := filepath.Join(binaries.Build(t, "internal/test/escape/probe"), "probe")
	dir, err := os.MkdirTemp(ground(), "escape-probe-")
	require.NoError(t, err)
	built.dir = filepath.Join(dir, "plugins")
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(built.dir, 0o755)) //nolint:gosec // another user has to get there
	if err == nil {
		err = binaries.Copy(program, filepath.Join(built.dir, "probe"))
	}
	if err == nil && os.Geteuid() == 0 {
		setuid := filepath.Join(dir, "setuid")
		const owner = 65533 // who is neither root nor the other user
		err = errors.Join(binaries.Copy(program, setuid), os.Chown(setuid, owner, owner), os.Chmod(setuid, 0o755|os.ModeSetuid),
			os.Setenv(setuidVariable, setuid)) //nolint:usetesting // for all tests
	}
	require.NoError(t, err)
	return built.dir
}

func probe(t *testing.T) string {
	t.Helper()
	return filepath.Join(plugins(t), "probe")
}

// ground is where worlds are made: not in /tmp, as that is another one in a sandbox.
func ground() string {
	if _, err := os.Stat("/var/tmp"); err == nil {
		return "/var/tmp"
	}
	return os.TempDir()
}
