package cgroup

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// The test's binary is also the processes in the groups. role says what one does, joins the
// cgroup.procs to write to first, with colons between them.
const (
	role  = "TOOLHOST_TEST_CGROUP"
	joins = "TOOLHOST_TEST_CGROUP_PROCS"
)

func TestMain(m *testing.M) {
	do, known := map[string]func(){
		"": func() {
			sweep() // what an earlier run left that was killed
			os.Exit(m.Run())
		},
		"waits": wait, "grows": grow, "forks": fork, "spins": spin, "hosts": host, "stays": stay, "divides": divideOwn, "tells": tellWhy,
	}[os.Getenv(role)]
	if !known {
		os.Exit(3)
	}
	for _, path := range strings.FieldsFunc(os.Getenv(joins), func(r rune) bool { return r == ':' }) {
		if err := os.WriteFile(path, []byte("0"), 0); err != nil {
			say(err.Error())
			os.Exit(4)
		}
	}
	do()
}

func say(line string) { _, _ = os.Stdout.WriteString(line + "\n") }

func wait() {
	say("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// grow takes 512 MiB.
func grow() {
	var kept [][]byte
	for range 512 {
		piece := make([]byte, 1<<20)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
		kept = append(kept, piece)
	}
	say("it has all of it")
	runtime.KeepAlive(kept)
}

// fork becomes a shell that starts 200 processes, which live on. Go's runtime ends if it
// cannot have a thread.
func fork() {
	_ = unix.Exec("/bin/sh", []string{"sh", "-c",
		`exec 2>/dev/null; i=0; while [ $i -lt 200 ]; do sleep 300 <&- >&- 2>&- & i=$((i+1)); done; echo it has all of them`}, nil)
}

// spin uses two processors.
func spin() {
	say("ready")
	for range 2 {
		go func() {
			for { //nolint:staticcheck // it is to use the processor
			}
		}()
	}
	select {}
}

// host makes a group, puts a process in it, and waits to be killed.
func host() {
	g, err := Find().Create("killed-host", Limits{PIDs: 50, Memory: 256 << 20})
	if err != nil {
		say(err.Error())
		return
	}
	cmd := command("stays", g.Procs()...)
	cmd.SysProcAttr = nil // it outlives its host
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = stdout.Read(make([]byte, 9))
	}
	if err != nil {
		say(err.Error())
		return
	}
	say(strings.Join(g.Procs(), ":"))
	wait()
}

// stay does not notice that whoever started it is dead.
func stay() {
	say("ready")
	time.Sleep(5 * time.Minute)
}

// tellWhy says what cannot be bounded.
func tellWhy() {
	tree := Find()
	for _, limit := range All {
		if _, err := tree.By(limit); err != nil {
			say(err.Error())
		}
	}
	g, err := tree.Create("none", Limits{Memory: 1 << 30, CPU: 1, PIDs: 100})
	say(fmt.Sprint(err, len(g.Procs()), g.Enforces()))
}

// command is this test's binary in a role.
func command(what string, procs ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // the test ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	cmd.Env = []string{role + "=" + what, joins + "=" + strings.Join(procs, ":")}
	return cmd
}

// child is a process whose lines are read.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner
	stdin io.Closer
}

func start(t *testing.T, cmd *exec.Cmd) child {
	t.Helper()
	cmd.Stderr = os.Stderr
	stdin := require.Must(cmd.StdinPipe())(t)
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return child{cmd, bufio.NewScanner(stdout), stdin}
}

// line is the next line that it writes; empty: it has ended.
func (c child) line() string {
	if !c.lines.Scan() {
		return ""
	}
	return c.lines.Text()
}

// killed waits for its end and reports whether it was SIGKILL.
func (c child) killed() bool {
	_ = c.Wait()
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == unix.SIGKILL
}

// group makes a group with limits that must all hold, and is removed with the test; the test
// is skipped if they cannot.
func group(t *testing.T, limits Limits) *Group {
	t.Helper()
	wanted := require.Must(limits.List())(t)
	tree := Find()
	for _, limit := range wanted {
		if _, err := tree.By(limit); err != nil {
			t.Skip(err)
		}
	}
	g := require.Must(tree.Create(t.Name(), limits))(t)
	t.Cleanup(func() {
		procs := g.Procs()
		if err := g.Close(); err != nil || slices.ContainsFunc(procs, exists) {
			t.Errorf("after Close: %v", err)
		}
	})
	if got := g.Enforces(); !slices.Equal(got, wanted) {
		t.Fatalf("enforced: %v, want %v", got, wanted)
	}
	return g
}

// Procs returns the files of the processes of the group. One that writes "0" to each joins it.
func (g *Group) Procs() []string {
	var out []string
	for _, p := range g.parts {
		out = append(out, filepath.Join(p.dir, procs))
	}
	return out
}

// sweep removes what killed tests left, in version 2 too if it has no controllers here.
func sweep() {
	tree := Find()
	if tree.unified.dir != "" {
		tree.parents["version 2"] = parent{dir: tree.unified.dir, v2: true}
	}
	tree.Sweep(context.Background())
}
