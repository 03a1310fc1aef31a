package pluginrun_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// hostDir makes this test's binary a host: it starts the plugin of the directory
// that the variable names, prints process numbers (of what an escaper let go, and of
// the plugin), and waits to be killed.
const (
	hostDir       = "TOOLHOST_TEST_HOST_DIR"
	hostNamespace = "TOOLHOST_TEST_HOST_NAMESPACE"
)

func init() {
	dir := os.Getenv(hostDir)
	if dir == "" {
		return
	}
	if err := beHost(dir, os.Getenv("TMPDIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(2) // the test ended before it killed us
}

func beHost(dir, tmp string) error {
	found, _, err := pluginrun.Discover(dir)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found %v, %w", found, err)
	}
	sockets, err := os.MkdirTemp(tmp, "toolhost-")
	if err != nil {
		return err
	}
	if err := confine.Claim(sockets); err != nil {
		return err
	}
	p := pluginrun.New(found[0], pluginrun.Config{Root: dir, TempDir: sockets, Settings: plugin.Settings{Namespace: plugin.Namespace(os.Getenv(hostNamespace))}})
	if _, err := p.List(context.Background()); err != nil {
		return err
	}
	if strings.HasPrefix(p.Name(), string(escaper)) {
		res, err := p.Execute(context.Background(), tool.Call{Name: "escape.session", Arguments: []byte("{}")})
		if err != nil {
			return err
		}
		fmt.Println(res.Text())
	}
	fmt.Println(p.Status().PID)
	return nil
}

// hostProcess is a host that can be killed.
type hostProcess struct {
	*exec.Cmd
	out *bufio.Reader
}

func startHost(t *testing.T, tmp, dir string, env ...string) hostProcess {
	t.Helper()
	h := exec.CommandContext(t.Context(), os.Args[0])
	h.Env = append(append(os.Environ(), hostDir+"="+dir, "TMPDIR="+tmp), env...)
	h.Stderr = os.Stderr
	stdin := require.Must(h.StdinPipe())(t)
	t.Cleanup(func() { _ = stdin.Close() })
	stdout := require.Must(h.StdoutPipe())(t)
	require.NoError(t, h.Start())
	return hostProcess{h, bufio.NewReader(stdout)}
}

// number is the next process number that the host prints.
func (h hostProcess) number(t *testing.T) int {
	t.Helper()
	line, _ := h.out.ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 0 {
		t.Fatalf("the host printed %q", line)
	}
	return pid
}

func (h hostProcess) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Process.Kill())
	_ = h.Wait()
}

// shortDir is a directory with a short path, as sockets need.
func shortDir(t testing.TB) string {
	t.Helper()
	tmp := require.Must(os.MkdirTemp("", "th-orphan-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	return tmp
}

// A host that is killed takes its plugins with it, which it cannot do itself.
func TestKilledHostLeavesNoPlugin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n plugin.Namespace) {
		h := startHost(t, shortDir(t), plugintest.Dir(t, plugintest.Fixture), hostNamespace+"="+string(n))
		pid := h.number(t)
		h.kill(t)
		awaitEnd(t, pid)
	})
}

// alive reports whether a process runs. One that has ended and waits for its new
// parent to take notice does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
