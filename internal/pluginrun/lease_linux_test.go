package pluginrun

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
)

// leased is a script on which this process has a lease. (A lease does not care whose it
// is.)
func leased(t *testing.T) (path string, release func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "leased")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	f := require.Must(os.OpenFile(path, os.O_RDWR, 0))(t)
	t.Cleanup(func() { _ = f.Close() })
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("no leases here: %v", err)
	}
	return path, func() { _ = f.Close() }
}

// A start that takes too long is not waited for, and its process is ended as soon as
// there is one.
func TestSlowStartIsGivenUp(t *testing.T) {
	t.Parallel()
	path, release := leased(t)
	p := newProcess(plugin.Candidate{Name: "slow", Path: path}, Config{Root: t.TempDir()}.withDefaults())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.start(ctx, os.Environ()); err == nil {
		t.Errorf("got %v", err)
	}
	<-p.exited
	release()
	<-p.gone
	if n := p.number(); n != 0 {
		t.Errorf("process %d is there", n)
	}
}

func TestOpenProgram(t *testing.T) {
	t.Parallel()
	path, release := leased(t)
	h, err := openProgram(t.Context(), path)
	if h.close(); err == nil || !strings.Contains(err.Error(), "holds a lease on "+path) {
		t.Errorf("got %v", err)
	}
	go func() {
		time.Sleep(5 * leasePace) // as an honest holder, who is told by a signal
		release()
	}()
	h, err = openProgram(t.Context(), path)
	if h.close(); err != nil || len(h) < 2 || h[0].Name() != path || h[1].Name() != "/bin/sh" {
		t.Errorf("got %v, %v", h, err)
	}
	if h, err := openProgram(t.Context(), os.DevNull); len(h) > 0 || err != nil {
		t.Errorf("a device: %v, %v", h, err)
	}
}

// With the stage and without, a process is what it was to be, and an error says what went
// wrong.
func TestBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	for name, begin := range map[string]func(p *command, out *os.File) (*os.Process, error){
		"stage": func(p *command, out *os.File) (*os.Process, error) {
			cmd := p.build(nil, out, out)
			confine.Isolate(cmd, confine.NoNamespace)
			return p.begin(cmd, sandbox.Bare(p.dir))
		},
		"directly": func(p *command, out *os.File) (*os.Process, error) {
			cmd := p.build(nil, out, out)
			confine.Isolate(cmd, confine.NoNamespace)
			return p.beginDirectly(cmd)
		},
	} {
		for _, c := range []struct{ root, path, out, fault string }{
			{dir, "/bin/sh", dir + " 0 one\n", ""},
			{dir, "/no/such/program", "", "no such file"},
			{dir, "/etc/passwd", "", "permission denied"},
			{dir + "/none", "/bin/sh", "", "the workspace cannot be entered"},
		} {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			p := newProcess(plugin.Candidate{Name: "x", Path: c.path}, Config{
				Root: c.root,
				Settings: plugin.Settings{
					Args: []string{"-c", `echo $PWD $(cat | wc -c) $1; ulimit -p >&2`, "sh", "one"},
					Env:  []string{"PATH=" + os.Getenv("PATH")},
				},
			}.withDefaults())
			p.cmd.group.Mark = ""
			process, err := begin(&p.cmd, w)
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %s in %s: %v", name, c.path, c.root, err)
			}
			_ = w.Close()
			if err == nil {
				out, _ := io.ReadAll(r)
				if state, err := process.Wait(); err != nil || !state.Success() || !strings.HasPrefix(string(out), c.out) {
					t.Errorf("%s: %v, %v: %q, want %q", name, state, err, out, c.out)
				}
			}
			_ = r.Close()
		}
	}
}

// What the stage costs: from fork to the program, which is the least there is.
func BenchmarkBegin(b *testing.B) {
	null := require.Must(os.OpenFile(os.DevNull, os.O_RDWR, 0))(b)
	defer func() { _ = null.Close() }()
	for name, begin := range map[string]func(p *command, cmd *exec.Cmd) (*os.Process, error){"stage": func(p *command, cmd *exec.Cmd) (*os.Process, error) { return p.begin(cmd, sandbox.Bare("/")) }, "directly": (*command).beginDirectly} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p := newProcess(plugin.Candidate{Name: "x", Path: "/bin/true"}, Config{Root: "/"}.withDefaults())
				cmd := p.cmd.build(nil, null, null)
				confine.Isolate(cmd, confine.NoNamespace)
				process := require.Must(begin(&p.cmd, cmd))(b)
				require.Must(process.Wait())(b)
			}
		})
	}
}

// A file that is open for writing, be it only in a process that was just forked, is run as
// soon as it is closed.
func TestStartWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "busy")
	f := require.Must(os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700))(t)
	defer func() { _ = f.Close() }()
	require.Must(f.WriteString("#!/bin/sh\nexec sleep 1000\n"))(t)
	p := newProcess(plugin.Candidate{Name: "busy", Path: path}, Config{Root: t.TempDir()}.withDefaults())
	forks, setPID := 0, p.cmd.onForked
	p.cmd.onForked = func(pid int) {
		setPID(pid)
		if forks++; forks == 2 { // the first found it open
			_ = f.Close()
		}
	}
	require.NoError(t, p.start(t.Context(), os.Environ()))
	if forks < 2 {
		t.Errorf("started after %d forks, while the file was open", forks)
	}
	p.kill()
	<-p.gone
}
