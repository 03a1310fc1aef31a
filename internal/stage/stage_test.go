//go:build linux && (amd64 || arm64)

package stage_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
	"github.com/toolhost/toolhost/internal/test/require"
)

// run starts the program of a list, and returns what it printed.
func run(t *testing.T, args []string, list func(p *stage.Program, report int), received func(int)) (string, error) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdin := require.Must(os.Open(os.DevNull))(t)
	defer func() { _ = stdin.Close() }()
	cmd := exec.Command("given", args...)
	cmd.Env = []string{"WORD=environment"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, w, w
	pid := 0
	err = stage.Start(cmd, func(report, free int) *stage.Program {
		p := stage.NewProgram(free)
		list(p, report)
		return p
	}, func(p int) { pid = p }, received)
	_ = w.Close()
	if pid != 0 {
		defer func() { _ = cmd.Wait() }()
	}
	out, _ := io.ReadAll(r)
	return string(out), err
}

func become(p *stage.Program, path string) {
	p.Call("run "+path, unix.SYS_EXECVE, p.Text(path), 0, 0)
	p.Arguments(1, 2)
}

// The list is carried out in order, steps that may fail leave out others, and the program has
// the arguments and the environment that it was given.
func TestStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := run(t, []string{"-c", `pwd; echo "$0 $1 $WORD"; ls /proc/self/fd`, "name", "one"}, func(p *stage.Program, _ int) {
		p.Call("close", unix.SYS_CLOSE_RANGE, uintptr(p.Free()-1), 0xffffffff, 0)
		p.Try(1, unix.SYS_CHDIR, p.Text("/there/is/none"))
		p.Call("left out", unix.SYS_CHDIR, p.Text("/neither"))
		p.Call("enter", unix.SYS_CHDIR, p.Text(dir))
		become(p, "/bin/sh")
	}, nil)
	want := dir + "\nname one environment\n0\n1\n2\n3\n"
	if err != nil || out != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

func TestFailureNamesTheStep(t *testing.T) {
	t.Parallel()
	out, err := run(t, nil, func(p *stage.Program, _ int) {
		p.Call("enter", unix.SYS_CHDIR, p.Text("/"))
		p.Call("enter /there/is/none", unix.SYS_CHDIR, p.Text("/there/is/none"))
		become(p, "/bin/sh")
	}, nil)
	var f *stage.Failure
	if !errors.As(err, &f) || f.Step != 1 || !errors.Is(err, unix.ENOENT) || f.What != "enter /there/is/none" || out != "" {
		t.Errorf("%v (%q)", err, out)
	}
}

func TestDescriptorsAreHandedOver(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	out, err := run(t, []string{"-c", "echo well"}, func(p *stage.Program, report int) {
		fd := p.Free()
		p.Call("open", unix.SYS_OPENAT, ^uintptr(99), p.Text("/proc/self/comm"), unix.O_RDONLY, 0)
		p.Send(report, fd)
		become(p, "/bin/sh")
	}, func(fd int) {
		f := os.NewFile(uintptr(fd), "comm")
		_, _ = io.Copy(&got, f)
		_ = f.Close()
	})
	if err != nil || out != "well\n" || got.Len() == 0 {
		t.Errorf("%q, %v, %q", out, err, got.String())
	}
}
