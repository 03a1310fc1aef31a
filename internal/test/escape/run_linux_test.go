package escape_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/escape"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// runner makes attempts: a plugin, or a process that nothing confines.
type runner interface {
	try(t *testing.T, name string, w escape.World) escape.Answer
	pid() int
	close(t *testing.T)
}

// results makes attempts, and returns how they ended by their names.
func results(t *testing.T, w *world, r runner, attempts iter.Seq2[*escape.Group, escape.Attempt]) map[string]escape.Answer {
	t.Helper()
	all := map[string]escape.Answer{}
	type rest struct {
		attempt escape.Attempt
		its     escape.World
		process int // a descriptor; -1: none
	}
	var later []rest
	for _, a := range attempts {
		its := w.of(a)
		before, stops := w.now(t, a, its), 0
		if a.Proof == escape.RunsOn {
			stops = stopped(t, r.pid())
		}
		said := r.try(t, a.Name, its)
		if said.Outcome == escape.Done && said.Listens != "" && !reaches(said.Listens, its.Nonce) {
			said.Outcome, said.Note = escape.Denied, "its listener is not reached"
		}
		if a.Proof == escape.RunsOn && said.Outcome == escape.Done && stopped(t, r.pid()) > stops {
			said.Outcome, said.Note = escape.Denied, "its control group had to wait"
		}
		if isLate(a.Proof) && said.Outcome == escape.Done {
			rest := rest{a, its, -1}
			if said.PID != 0 {
				rest.process = descriptorOf(t, r.pid(), said.PID)
			}
			later = append(later, rest)
		}
		all[a.Name] = w.outcome(t, a, its, before, said)
	}
	r.close(t)
	for _, l := range later {
		said := all[l.attempt.Name]
		var there bool
		switch {
		case l.attempt.Proof == escape.Lingers:
			there = unix.PidfdSendSignal(l.process, 0, nil, 0) == nil
			_ = unix.Waitid(unix.P_PIDFD, l.process, nil, unix.WEXITED|unix.WNOHANG, nil)
		case l.attempt.Proof == escape.ArrivesLate:
			there = lives(l.process) && w.has(l.its.Nonce, ceiling) || w.has(l.its.Nonce, 0)
		case l.process >= 0:
			there = lives(l.process)
		default:
			there = left(said.Left, l.its.SegmentSize())
		}
		if !there {
			said.Outcome, said.Note = escape.Denied, "it is gone when the plugin is closed"
			all[l.attempt.Name] = said
		}
		if l.process >= 0 { // what the test's own probe has started
			_ = unix.PidfdSendSignal(l.process, unix.SIGKILL, nil, 0)
			_ = unix.Close(l.process)
		}
	}
	return all
}

// isLate reports whether a proof is looked for when the plugin is closed.
func isLate(p escape.Proof) bool {
	return p == escape.Stays || p == escape.Lingers || p == escape.ArrivesLate
}

// reaches reports whether a listener of the probe is reached from here.
func reaches(address, nonce string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil || unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) != nil {
		return false
	}
	text := make([]byte, 64)
	n, err := unix.Read(fd, text)
	return err == nil && string(text[:n]) == nonce
}

// stopped returns in how many periods the control groups of a process, other than the test's
// own, had used up their part of the processors.
func stopped(t *testing.T, pid int) (n int) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	its, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	var groups []string
	for line := range strings.Lines(string(its)) {
		if !strings.Contains(string(own), line) {
			groups = append(groups, filepath.Base(strings.TrimSpace(line)))
		}
	}
	if len(groups) == 0 {
		return 0
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, _ error) error { // others' groups come and go
		if d == nil || d.Name() != "cpu.stat" || !slices.Contains(groups, filepath.Base(filepath.Dir(path))) {
			return nil
		}
		text, _ := os.ReadFile(path)
		_, text, _ = bytes.Cut(text, []byte("nr_throttled "))
		text, _, _ = bytes.Cut(text, []byte("\n"))
		count, _ := strconv.Atoi(string(text))
		n += count
		return nil
	})
	return n
}

// descriptorOf finds a process that a plugin has started, by the number that it has for the
// plugin, whose namespace may be another.
func descriptorOf(t *testing.T, plugin, number int) int {
	t.Helper()
	of := func(pid string) string {
		link, _ := os.Readlink("/proc/" + pid + "/ns/pid")
		return link
	}
	home, there := of("self"), of(strconv.Itoa(plugin))
	pid := number
	if there != home {
		pid = 0
		all, _ := filepath.Glob("/proc/[0-9]*/status")
		for _, path := range all {
			text, _ := os.ReadFile(path)
			_, numbers, _ := strings.Cut(string(text), "\nNSpid:")
			numbers, _, _ = strings.Cut(numbers, "\n")
			fields := strings.Fields(numbers)
			if len(fields) > 1 && fields[len(fields)-1] == strconv.Itoa(number) && of(filepath.Base(filepath.Dir(path))) == there {
				pid, _ = strconv.Atoi(fields[0])
			}
		}
	}
	if pid == 0 {
		return closedDescriptor(t)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return closedDescriptor(t)
	}
	return fd
}

// closedDescriptor stands for a process that has ended already.
func closedDescriptor(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/true")
	require.NoError(t, cmd.Start())
	fd := require.Must(unix.PidfdOpen(cmd.Process.Pid, 0))(t)
	_ = cmd.Wait()
	return fd
}

// lives reports whether a process has not ended.
func lives(pidfd int) bool {
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return n == 0
}

// free is a process that nothing confines.
type free struct {
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
}

func newFree(t *testing.T, w *world) *free {
	t.Helper()
	cmd := exec.Command(probe(t), "run") //nolint:noctx // it ends with its input
	cmd.Dir, cmd.Stderr = w.Workspace, os.Stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.scratch()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 { // what it mounts ends with it
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	left, err := os.Open(w.Secret)
	require.NoError(t, err)
	inR, inW, err := os.Pipe()
	require.NoError(t, err)
	outR, outW, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = inR, outW, []*os.File{left}
	err = cmd.Start()
	_, _, _ = left.Close(), inR.Close(), outW.Close()
	require.NoError(t, err)
	t.Cleanup(func() { _ = outR.Close() })
	return &free{cmd, inW, bufio.NewReader(outR)}
}

func (f *free) pid() int { return f.cmd.Process.Pid }

func (f *free) try(t *testing.T, name string, w escape.World) (a escape.Answer) {
	t.Helper()
	err := json.NewEncoder(f.in).Encode(map[string]any{"name": name, "world": w})
	require.NoError(t, err)
	line, err := f.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		t.Fatalf("%s: the probe does not answer: %v", name, err)
	}
	return a
}

func (f *free) close(t *testing.T) {
	t.Helper()
	_ = f.in.Close()
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("the probe: %v", err)
	}
}

// confined is the probe as a plugin.
type confined struct {
	plugin  *pluginrun.Plugin
	process int
}

func newConfined(t *testing.T, w *world, change func(*pluginrun.Config)) *confined {
	t.Helper()
	found, skipped, err := pluginrun.Discover(plugins(t))
	if err != nil || len(found) != 1 {
		t.Fatalf("Discover: %v, skipped %v, error %v", found, skipped, err)
	}
	cfg := pluginrun.Config{
		Root: w.Workspace, TempDir: directory(t, "/tmp"), Logger: hclog.NewNullLogger(),
		Protected: func() []string { return w.protected },
		Settings:  plugin.Settings{StartTimeout: ceiling, Env: []string{"TMPDIR=" + w.scratch()}},
	}
	change(&cfg)
	p := pluginrun.New(found[0], cfg)
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	require.NoError(t, p.Ready(t.Context()))
	return &confined{p, p.Status().PID}
}

func (c *confined) pid() int { return c.process }

func (c *confined) try(t *testing.T, name string, w escape.World) (a escape.Answer) {
	t.Helper()
	args, err := json.Marshal(map[string]any{"name": name, "world": w})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	res, err := c.plugin.Execute(ctx, tool.Call{ID: name, Name: "attempt", Arguments: args})
	if code := tool.CodeOf(err); code == tool.CodeCrashed || code == tool.CodeResourceExhausted {
		return escape.Answer{Outcome: escape.Denied, Note: err.Error()}
	}
	if err == nil {
		err = json.Unmarshal(res.Structured, &a)
	}
	if err != nil {
		t.Fatalf("%s: %v %s", name, err, res.Text())
	}
	return a
}

func (c *confined) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ceiling)
	defer cancel()
	assert.NoError(t, c.plugin.Close(ctx))
}
