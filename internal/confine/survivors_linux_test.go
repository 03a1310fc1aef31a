package confine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// What this test's binary does for tests, in processes of its own, besides [child]'s.
func init() {
	read := func() bool { n, _ := os.Stdin.Read(make([]byte, 1)); return n > 0 }
	switch os.Getenv(variable) {
	case "leaves": // when it is told to, a process without an environment, in a session of its own
		read()
		cmd := exec.Command(os.Args[0]) //nolint:noctx // the test ends it
		cmd.Args, cmd.Env, cmd.Stdout = []string{"headless"}, []string{variable + "="}, os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
		read()
		os.Exit(0)
	case "connects": // or hands its connection on, and ends
		conn, err := net.Dial("unix", os.Args[1]) //nolint:noctx // at once
		if err == nil && len(os.Args) > 2 {
			var f *os.File
			f, err = conn.(*net.UnixConn).File()
			cmd := exec.Command("/bin/sleep", "600") //nolint:noctx // the test ends it
			cmd.ExtraFiles = []*os.File{f}
			if err = errors.Join(err, cmd.Start()); err == nil {
				fmt.Println(cmd.Process.Pid)
			}
			os.Exit(0)
		}
		fmt.Println(os.Getpid(), err)
		read()
		os.Exit(0)
	}
	if os.Args[0] == "headless" { // its first thread ends, and with that what /proc shows of its environment
		fmt.Println(os.Getpid())
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
}

// program is this test's binary as one of the above.
type program struct {
	*exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func start(t *testing.T, what string, args ...string) program {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...) //nolint:noctx // the test ends it
	cmd.Env, cmd.Stderr = []string{variable + "=" + what}, os.Stderr
	p := program{cmd, require.Must(cmd.StdinPipe())(t), require.Must(cmd.StdoutPipe())(t)}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = p.in.Close(), cmd.Wait() })
	return p
}

// number is that of the process that it tells.
func (p program) number(t *testing.T) int {
	t.Helper()
	text := make([]byte, 100)
	n, _ := p.out.Read(text)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text[:n])))
	if err != nil {
		t.Fatalf("it says %q", text[:n])
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	return pid
}

func exists(pid int) bool { return unix.Kill(pid, 0) == nil }

// left is a process that a run has left.
func left(t *testing.T, of Group) (pid int) {
	t.Helper()
	p := start(t, "leaves")
	if of.Brand != 0 {
		require.NoError(t, of.Brand.give(p.Process.Pid))
	}
	_ = require.Must(p.in.Write([]byte("x")))(t)
	pid = p.number(t)
	require.NoError(t, p.in.Close())
	_ = p.Wait()
	require.Eventually(t, "its first thread has ended", func() bool {
		fields, err := statOf(pid)
		return err == nil && fields[0] == "Z"
	})
	return pid
}

// What a process has in its environment does not matter, nor whether its first thread lives.
func TestEndWithoutEnvironment(t *testing.T) {
	t.Parallel()
	run := NewRun()
	if run.Brand == 0 {
		t.Skip("this process cannot give brands")
	}
	pid, other := left(t, run), left(t, NewRun())
	if n, _ := run.Usage(); n != 1 {
		t.Errorf("the run has %d processes", n)
	}
	run.End()
	require.Eventually(t, "the process that was left has ended", func() bool { return !exists(pid) })
	if !exists(other) {
		t.Error("the process of another run has ended")
	}
}

// A later host ends what one that was killed left, and nothing of one that lives.
func TestSweepWithoutEnvironment(t *testing.T) {
	t.Parallel()
	me, err := self()
	if err != nil || ownBrand() != unbranded {
		t.Skip("this process cannot give brands", err)
	}
	living := left(t, NewRun())
	dead := left(t, Group{})
	require.NoError(t, newBrand(owner{me.pid, me.start - 1, me.space, me.boot}, 1).give(dead)) // from here on each host ends it
	Sweep(t.Context(), t.TempDir())
	require.Eventually(t, "what the dead host left has ended", func() bool { return !exists(dead) })
	if !exists(living) {
		t.Error("what belongs to a living one has ended")
	}
}

// A process that has a brand, descends from a host, or has handed its connection on counts as a plugin's.
func TestOfPlugin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	ln := require.Must(net.Listen("unix", path))(t) //nolint:noctx // at once
	defer func() { _ = ln.Close() }()
	for _, c := range []struct {
		what, want string
		args       []string
		host       bool
		brand      Brand
	}{
		{what: "another process"},
		{what: "a descendant", host: true, want: fmt.Sprintf("descends from process %d", os.Getpid())},
		{what: "one that has ended", args: []string{"hands"}, want: "the process has ended"},
		{what: "one of another host", brand: newBrand(owner{pid: 1}, 1), want: "was started by a host of plugins"},
	} {
		p := start(t, "connects", append([]string{path}, c.args...)...)
		conn := require.Must(ln.Accept())(t).(*net.UnixConn)
		if len(c.args) > 0 {
			_ = p.number(t)
			_ = p.Wait()
		}
		if c.brand != 0 {
			if ownBrand() != unbranded {
				continue
			}
			require.NoError(t, c.brand.give(p.Process.Pid))
		}
		if why := OfPlugin(conn, c.host); !strings.Contains(why, c.want) || c.want == "" && why != "" {
			t.Errorf("%s: %q, want %q", c.what, why, c.want)
		}
		_, _ = p.in.Close(), conn.Close()
	}
}

// A process that adopts reaps and ends what runs leave, and nothing of what it has started for a person. It
// is one of its own, as others of this test's binary are not to adopt.
func TestAdopt(t *testing.T) {
	t.Parallel()
	const alone = "TOOLHOST_TEST_ADOPTS"
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAdopt$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	require.NoError(t, Adopt())
	persons := require.Must(exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 600 >&- 2>&- & echo $!").Output())(t)
	person := require.Must(strconv.Atoi(strings.TrimSpace(string(persons))))(t)
	t.Cleanup(func() {
		_ = unix.Kill(person, unix.SIGKILL)
		_, _ = unix.Wait4(person, nil, 0, nil)
	})
	run := NewRun()
	if run.Brand == 0 {
		t.Skip("this process cannot give brands")
	}
	run.Begin()
	runs.Lock()
	runs.first[run.Brand] = 1 // any but those below
	runs.Unlock()
	stays, ends, changed := left(t, run), left(t, run), left(t, run)
	for _, pid := range []int{stays, ends, changed, person} {
		if parent, err := Parent(pid); parent != os.Getpid() {
			t.Errorf("process %d has the parent %d, %v", pid, parent, err)
		}
	}
	require.NoError(t, unix.Prlimit(changed, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: 1000, Max: 1000}, nil)) // as it can itself
	require.NoError(t, unix.Kill(ends, unix.SIGKILL))
	require.Eventually(t, "what has ended is reaped while its run goes on", func() bool { return !exists(ends) })
	require.Eventually(t, "what belongs to no run that goes on has ended", func() bool { return !exists(changed) })
	if !exists(stays) {
		t.Error("a process of the run has ended before it")
	}
	run.End()
	require.Eventually(t, "what the run has left has ended, and is reaped", func() bool { return !exists(stays) })
	if fields, err := statOf(person); err != nil || fields[0] == "Z" {
		t.Errorf("what was started for a person is %v, %v", fields, err)
	}
}
