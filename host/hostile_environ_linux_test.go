package host_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/procstest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// bloatedEnviron makes this test's binary a process of no host that has an environment
// without end, says so, and waits.
const bloatedEnviron = "TOOLHOST_TEST_BLOATED"

func init() {
	if os.Getenv(bloatedEnviron) != "" {
		beBloated()
	}
}

func beBloated() {
	if err := procstest.BloatEnviron(); err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("bloated")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// startBloated starts such a process; nil attributes: of this user.
func startBloated(t *testing.T, attr *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	self := plugintest.InstallSelf(t, openDir(t), "bloated-other")
	cmd := exec.Command(self) //nolint:noctx // the test ends it
	cmd.Env, cmd.SysProcAttr, cmd.Dir = []string{bloatedEnviron + "=1"}, attr, "/"
	stdin := require.Must(cmd.StdinPipe())(t)
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = stdin.Close(), cmd.Wait() })
	said := make([]byte, 200)
	if n, _ := stdout.Read(said); string(said[:n]) != "bloated" {
		t.Skipf("environments cannot be moved here: %s", said[:n])
	}
	return cmd
}

// openDir is a directory that every user may look into.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "th-open-") // that of t.TempDir is private
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // that is what it is for
		t.Fatal(err)
	}
	return dir
}

// maxHostMemory is how much memory a host may hold that finds such environments, in
// bytes. One that reads them whole holds four times their size.
const maxHostMemory = procstest.Bloat * 2

// The environment of a process is read as far as one can be, whether the process is a
// plugin, one of the same user's, or, which is not even looked at, another user's.
func TestHostileEnviron(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, h *otherHost){
		"a plugin": func(t *testing.T, h *otherHost) {
			h.Env = append(h.Env, hostNamespace+"="+string(plugin.NamespaceOff))
		},
		"this user's": func(t *testing.T, _ *otherHost) { startBloated(t, nil) },
		"another user's": func(t *testing.T, _ *otherHost) {
			if os.Geteuid() != 0 {
				t.Skip("only root can start it")
			}
			startBloated(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newOtherHost(t, plugintest.Dir(t, hostile.Bloated))
			start(t, h)
			begin := time.Now()
			h.begin(t)
			if strings.Contains(h.Result, "PR_SET_MM_MAP") {
				t.Skipf("environments cannot be moved here: %s", h.Result)
			}
			h.end(t) // which looks for what its plugins have left
			if took := time.Since(begin); took > ceiling {
				t.Errorf("it took %v", took)
			}
			if h.Peak == 0 || h.Peak > maxHostMemory {
				t.Errorf("the host had %d MiB", h.Peak>>20)
			}
			t.Logf("the host had %d MiB", h.Peak>>20)
		})
	}
}
