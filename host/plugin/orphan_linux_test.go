package plugin_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/internal/plugintest"
	"github.com/toolhost/toolhost/host/plugin"
)

// hostDir makes this test's binary a host: it starts the plugin of the directory
// that the variable names, prints its process number, and waits to be killed.
const hostDir = "TOOLHOST_TEST_HOST_DIR"

func init() {
	dir := os.Getenv(hostDir)
	if dir == "" {
		return
	}
	found, _, err := plugin.Discover(dir)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("found %v", found)
	}
	if err == nil {
		p := plugin.New(found[0], plugin.Config{Root: dir, TempDir: os.Getenv("TMPDIR")})
		_, err = p.List(context.Background())
		fmt.Println(p.Status().PID)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(2) // the test ended before it killed us
}

// A host that is killed takes its plugins with it, which it cannot do itself.
func TestKilledHostLeavesNoPlugin(t *testing.T) {
	t.Parallel()
	tmp, err := os.MkdirTemp("", "th-orphan-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	h := exec.CommandContext(t.Context(), os.Args[0])
	h.Env = append(os.Environ(), hostDir+"="+plugintest.Dir(t, plugintest.Fixture), "TMPDIR="+tmp)
	stdin, err := h.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := h.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.Stderr = os.Stderr
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 0 {
		t.Fatalf("the host printed %q", line)
	}
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	for tick := time.Tick(time.Millisecond); alive(pid); {
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatalf("plugin %d outlives its host", pid)
		}
	}
}

// alive reports whether a process runs. One that has ended and waits for its new
// parent to take notice does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
