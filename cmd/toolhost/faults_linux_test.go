package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// With too few descriptors plugins do not start, and the host says what to do. It used to panic.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	for _, limit := range []int{10, 12, 14, 15, 16, 17, 18} {
		c := w.command("tools", "--plugin-dir", w.plugins)
		sh := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit)
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", sh}, c.Args...)...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = c.Dir, slices.Concat(c.Env, []string{session.CacheVariable + "=off"}), c.SysProcAttr
		o := w.finish(cmd)
		if strings.Contains(o.stderr, "goroutine ") || o.status != 0 && o.status != 6 {
			t.Errorf("with %d descriptors it exits with %d:\n%s", limit, o.status, o.stderr)
		}
		if !strings.Contains(o.stdout, "play.echo") {
			o.says("too many open files", "ulimit -n")
		}
	}
	w.run("tools").exits(0).prints("play.echo") // sweeps what could not be removed for want of descriptors
}

// A daemon that is short of descriptors when it starts a plugin again does so in its sandbox or not at
// all, and says why. It used to run the plugin without any, and said nothing.
func TestShortageLowersNoSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.write("file", "")
	s := w.serve("--grant", "fs:read")
	call := func() outcome { return w.run("call", "fs.read", `{"path":"file"}`, "--grant", "fs:read") }
	confined := func() (out string) {
		status := require.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", w.known("fs").PID)))(t)
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "NoNewPrivs") || strings.HasPrefix(line, "Seccomp:") || strings.HasPrefix(line, "CapEff") {
				out += line
			}
		}
		return out
	}
	call().exits(0)
	before, failed := confined(), 0
	shown := w.run("plugins", "show", "fs").exits(0).stdout
	_, sandbox, _ := strings.Cut(shown, "ENFORCED BY")
	sandbox, _, _ = strings.Cut(sandbox, "\n\n")
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit))
	step := 4
	if !testing.Short() {
		step = 1
	}
	for free := 1; free < 30; free += step {
		w.run("plugins", "restart", "fs").exits(0)
		few := unix.Rlimit{Cur: uint64(s.open() + free), Max: limit.Max}
		require.NoError(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, &few, nil))
		o := w.run("plugins", "restart", "fs") // which has those of the process that ends, too
		require.NoError(t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil))
		switch now := w.known("fs"); now.State {
		case plugin.Ready:
			assert.Equalf(t, confined(), before, "with %d descriptors left it runs with", free)
		case plugin.Refused: // else the call was not taken
			failed++
			if o.status == 0 || now.PID != 0 || !strings.Contains(now.Reason, "too many open files") {
				t.Errorf("with %d descriptors left: %s, %s, and the restart exits with %d", free, now.State, now.Reason, o.status)
			}
		}
	}
	if failed == 0 {
		t.Error("no start has failed")
	}
	w.run("plugins", "restart", "fs").exits(0)
	call().exits(0)
	if got := w.run("plugins", "show", "fs").exits(0).stdout; !strings.Contains(got, sandbox) {
		t.Errorf("afterwards: %s\nbefore: %s", got, shown)
	}
	w.run("logs", "fs").exits(0).prints("plugin did not start: ", "too many open files")
}
