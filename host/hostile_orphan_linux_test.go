package host_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// told is what a host in a process of its own says of itself.
type told struct {
	Tools  int    `json:"tools"`
	Fault  string `json:"fault"`  // Load's
	Result string `json:"result"` // of the call
	Peak   int64  `json:"peak"`   // how much memory it had at most when it has closed, in bytes
}

// hostNamespace is a variable with the choice of a PID namespace for such a host's
// plugins.
const hostNamespace = "TOOLHOST_TEST_NAMESPACE"

// beHost is what the other process does.
func beHost(dir string) {
	var out told
	limitProcesses()
	if os.Geteuid() != 0 { // of root, it is enough what its plugins are not given
		_ = plugin.Conceal()
	}
	h, err := host.New(host.WithRoot(os.Getenv("TOOLHOST_TEST_ROOT")),
		host.WithDefaults(func(all *plugin.Settings) {
			all.Env = []string{hostile.Mark + "=" + os.Getenv(hostile.Mark)}
			all.Namespace = plugin.Namespace(cmp.Or(os.Getenv(hostNamespace), string(plugin.NamespaceAuto)))
		}))
	if err == nil {
		out.Tools, err = h.Load(context.Background(), dir)
	}
	if err != nil {
		out.Fault = err.Error()
	} else if res, err := h.Execute(context.Background(), tool.Call{Name: hostile.Tool}); err != nil {
		out.Result = err.Error()
	} else {
		out.Result = res.Text()
	}
	needThreads()
	_ = json.NewEncoder(os.Stdout).Encode(out)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = h.Close(context.Background())
	out.Peak = peakMemory()
	_ = json.NewEncoder(os.Stdout).Encode(out)
	os.Exit(0)
}

// peakMemory is how much memory this process had at most, in bytes.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// otherHost is a host in a process of its own.
type otherHost struct {
	*exec.Cmd
	told
	stdin  io.Closer
	stdout *bufio.Reader
	mark   string
	tmp    string
	root   string
}

// startHost starts one with a plugin of a mode, and returns when it has loaded and
// called it. The test ends it.
func startHost(t *testing.T, mode plugintest.Mode, files ...*os.File) *otherHost {
	t.Helper()
	h := newOtherHost(t, plugintest.Dir(t, mode))
	h.ExtraFiles = files
	h.begin(t)
	return h
}

// newOtherHost is one that is not started yet, to load a plugin directory.
func newOtherHost(t *testing.T, dir string) *otherHost {
	t.Helper()
	tmp := require.Must(os.MkdirTemp("", "th-host-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	h := &otherHost{mark: filepath.Base(tmp), tmp: tmp, root: t.TempDir()}
	h.Cmd = exec.CommandContext(context.Background(), os.Args[0]) // t.Context ends before it is told to close
	h.Env = append(os.Environ(), hostileHost+"="+dir, hostile.Mark+"="+h.mark, "TMPDIR="+tmp, "TOOLHOST_TEST_ROOT="+h.root, hostile.Secret+"=of "+h.mark)
	h.Stderr = os.Stderr
	return h
}

// begin returns when it has loaded the directory and called [hostile.Tool].
func (h *otherHost) begin(t *testing.T) {
	t.Helper()
	stdin, err := h.StdinPipe()
	h.stdin = stdin
	require.NoError(t, err)
	stdout := require.Must(h.StdoutPipe())(t)
	require.NoError(t, h.Start())
	t.Cleanup(func() {
		_ = stdin.Close() // it closes, and ends
		defer time.AfterFunc(ceiling, func() { _ = h.Process.Kill() }).Stop()
		_ = h.Wait()
	})
	h.stdout = bufio.NewReader(stdout)
	h.listen(t)
}

// end returns when it has closed.
func (h *otherHost) end(t *testing.T) {
	t.Helper()
	_ = h.stdin.Close()
	h.listen(t)
}

func (h *otherHost) listen(t *testing.T) {
	t.Helper()
	line, err := h.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("the host is gone: %v: %v", err, h.Wait())
	}
	if err := json.Unmarshal([]byte(line), &h.told); err != nil {
		t.Fatalf("the host says %q", line)
	}
}

// plugins are the processes of its plugins, and theirs.
func (h *otherHost) plugins() (out []string) {
	own := fmt.Sprintf("/proc/%d ", h.Process.Pid)
	for _, p := range marked(hostile.Mark + "=" + h.mark) {
		if !strings.HasPrefix(p, own) {
			out = append(out, p)
		}
	}
	return out
}

// A host that is killed takes its plugins with it, which it cannot do itself; and
// what they started, wherever it went. (The latter where the host may make PID
// namespaces; elsewhere the next start sees to it.)
func TestHostileKilledHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode plugintest.Mode
		runs int
	}{{hostile.Sick, 1}, {hostile.Litter, 2}, {hostile.OwnSession, 2}} {
		t.Run(string(c.mode), func(t *testing.T) {
			t.Parallel()
			h := startHost(t, c.mode)
			if n := len(h.plugins()); n != c.runs {
				t.Fatalf("%d processes run, want %d; the host says %+v", n, c.runs, h.told)
			}
			require.NoError(t, h.Process.Kill())
			_ = h.Wait()
			require.Eventually(t, "its processes are gone", func() bool { return len(h.plugins()) == 0 })
		})
	}
}

// Descriptors that the host inherited itself, or that a library opened without
// close-on-exec, are not the plugin's.
func TestHostileDescriptors(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	h := startHost(t, hostile.Thief, w)
	assert.NotContainsf(t, h.Result, `"inherited":["`, "the plugin inherited it")
}

// A plugin cannot read its host's environment, and with it the host's memory: as
// root because it lacks the right to look into others, else because the host has
// concealed itself.
func TestHostileConcealment(t *testing.T) {
	t.Parallel()
	h := startHost(t, hostile.Thief)
	if h.Fault != "" || !strings.Contains(h.Result, `"inherited"`) {
		t.Fatalf("the host says %+v", h.told)
	}
	assert.NotContainsf(t, h.Result, "of "+h.mark, "the plugin read the host's environment")
}
