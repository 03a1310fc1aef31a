package pluginrun_test

import (
	"github.com/toolhost/toolhost/internal/journal"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What cannot be found when its run has ended is refused what it was refused before, and the operator
// learns that it is there. The test is a process of its own, in which a host can give no brands.
func TestSurvivorIsRefusedOn(t *testing.T) {
	t.Parallel()
	if !require.Must(sandbox.Detect())(t).Notify {
		t.Skip("the host does not learn here of what it refuses")
	}
	const unbranding = "TOOLHOST_TEST_UNBRANDING"
	if os.Getenv(unbranding) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSurvivorIsRefusedOn$")
		cmd.Env = append(os.Environ(), unbranding+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: 1000, Max: 1000}, nil))
	dir, kept := t.TempDir(), &journal.Journal{}
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	p := open(t, boxed, in(plugin.NamespaceOff), func(c *pluginrun.Config) {
		c.Root, c.Journal = dir, kept
		// No control group, which would end what is left.
		c.Sandbox = plugin.Sandbox{Read: []string{tool.Workspace}, Exec: []string{tool.Any}, Memory: -1, PIDs: -1}
	})
	if text, ok := try(t, p, "leave", "read x < '"+fifo+"'; chroot / /bin/true"); !ok {
		t.Fatal(text)
	}
	require.NoError(t, unix.Kill(p.Status().PID, unix.SIGKILL))
	require.Eventually(t, "the operator learns of it", func() bool {
		lines, _ := kept.Since(0)
		return slices.ContainsFunc(lines, func(l journal.Entry) bool { return strings.Contains(l.Text, "a process of the plugin lives on") })
	})
	f := require.Must(os.OpenFile(fifo, os.O_WRONLY, 0))(t) // it goes on
	require.NoError(t, f.Close())
	require.Eventually(t, "it was refused", func() bool {
		return slices.ContainsFunc(p.Sandbox().Denied, func(d plugin.Denial) bool { return d.What == "chroot" })
	})
}
