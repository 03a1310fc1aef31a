package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// These tests use the controllers of this machine, of whatever version, and are skipped
// without them.

func TestMemory(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{Memory: 64 << 20})
	c := start(t, command("grows", g.Procs()...))
	if said := c.line(); said != "" || !c.killed() {
		t.Errorf("it said %q, and ended with %v", said, c.ProcessState)
	}
	if e := g.Exceeded(); e.Memory == 0 || e.PIDs != 0 {
		t.Errorf("exceeded: %+v", e)
	}
	if u := g.Usage(); u.CPU == 0 || u.Peak < 32<<20 || u.Peak > 65<<20 { // a page more may be counted
		t.Errorf("usage: %+v", u)
	}
}

func TestPIDs(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{PIDs: 40})
	c := start(t, command("forks", g.Procs()...))
	if said := c.line(); said != "" {
		t.Error("it said", said)
	}
	_ = c.Wait()
	if e := g.Exceeded(); e.PIDs == 0 || e.Memory != 0 {
		t.Errorf("exceeded: %+v", e)
	}
	all, err := numbers(filepath.Dir(g.Procs()[0]))
	if err != nil || len(all) < 10 || len(all) > 40 {
		t.Errorf("%d processes are left: %v", len(all), err)
	}
	assert.NoError(t, g.Kill())
	for _, pid := range all { // the kernel takes it out of the group a moment before it is a zombie
		require.Eventually(t, "process "+strconv.Itoa(pid)+" ends", func() bool { return unix.Kill(pid, 0) != nil || zombie(pid) })
	}
}

// zombie reports whether a process has ended; whoever is its parent now may not have noticed.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestCPU(t *testing.T) {
	t.Parallel()
	const processors = 0.2
	g := group(t, Limits{CPU: processors})
	c := start(t, command("spins", g.Procs()...))
	begun := time.Now()
	if c.line() != "ready" {
		t.Fatal("it did not start")
	}
	// On a busy machine it may take a while until the group could have had more.
	require.Eventually(t, "it waits for processors", func() bool {
		return g.Exceeded().Throttled > time.Second/4
	})
	if err := g.Kill(); err != nil || !c.killed() {
		t.Error(err, c.ProcessState)
	}
	took := time.Since(begun)
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if most := time.Duration(processors*float64(took)) + 2*period; used > most {
		t.Errorf("it used %v in %v, more than %v", used, took, most)
	}
}

// A group above that has fewer processors bounds this one, which version 1 does not let have more.
func TestCPUBelowLess(t *testing.T) {
	t.Parallel()
	above := group(t, Limits{CPU: 0.5})
	tree := Find()
	tree.parents[CPU] = parent{dir: above.parts[0].dir, v2: above.parts[0].v2}
	if above.parts[0].v2 {
		t.Skip("version 2 lets a group below have any number")
	}
	g, err := tree.Create("below", Limits{CPU: 2})
	if err != nil || !slices.Equal(g.Enforces(), []Limit{CPU}) || g.Close() != nil {
		t.Error(g, err)
	}
}

// A process that has one thread is in all of a group that it enters.
func TestEnter(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{PIDs: 50, Memory: 256 << 20})
	cmd := command("")
	files, done, err := g.Enter(cmd.SysProcAttr)
	require.NoError(t, err)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `for f; do echo 0 >"$f"; done; echo ready; exec cat`, "sh"}, files...)
	c := start(t, cmd)
	done()
	if c.line() != "ready" {
		t.Fatal("it did not start")
	}
	for _, file := range g.Procs() {
		if all, err := numbers(filepath.Dir(file)); err != nil || !slices.Equal(all, []int{c.Process.Pid}) {
			t.Errorf("%s has %v, want %d: %v", file, all, c.Process.Pid, err)
		}
	}
}

// Close ends what is in groups that a process has made in its own, and removes them.
func TestCloseBelow(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{PIDs: 50, Memory: 256 << 20})
	var inner []string
	for _, file := range g.Procs() {
		dir := filepath.Join(filepath.Dir(file), "made", "by-the-process")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		inner = append(inner, filepath.Join(dir, procs))
	}
	first, second := start(t, command("waits", g.Procs()...)), start(t, command("waits", inner...))
	if first.line() != "ready" || second.line() != "ready" {
		t.Fatal("they did not start")
	}
	if err := g.Close(); err != nil || !first.killed() || !second.killed() {
		t.Error(err, first.ProcessState, second.ProcessState)
	}
	for _, file := range append(g.Procs(), inner...) {
		if exists(file) {
			t.Error(file, "is left")
		}
	}
}

// Of groups, Sweep removes those of hosts that are dead, with what is in them.
func TestSweep(t *testing.T) {
	t.Parallel()
	ours := group(t, Limits{PIDs: 50, Memory: 256 << 20})
	other := filepath.Join(filepath.Dir(ours.parts[0].dir), "toolhost-test-of-another")
	require.NoError(t, os.Mkdir(other, 0o700))
	t.Cleanup(func() {
		assert.NoError(t, os.Remove(other))
	})
	t.Cleanup(sweep)
	host := start(t, command("hosts"))
	left := strings.Split(host.line(), ":")
	if len(left) != len(ours.Procs()) || !exists(left[0]) {
		t.Fatalf("the host made %q", left)
	}
	sweep()
	all, err := numbers(filepath.Dir(left[0]))
	if err != nil || len(all) != 1 {
		t.Fatalf("of a host that lives: %v, %v", all, err)
	}
	if err := host.Process.Kill(); err != nil || !host.killed() {
		t.Fatal(err, host.ProcessState)
	}
	if sweep(); slices.ContainsFunc(left, exists) {
		t.Errorf("of %v, some are left", left)
	}
	if !zombie(all[0]) {
		t.Error("the process of the dead host lives")
	}
	for _, file := range append(ours.Procs(), other) {
		if !exists(file) {
			t.Error(file, "was removed")
		}
	}
}

// A user without privileges cannot make groups, and is told why.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it takes root to become another user")
	}
	cmd := command("tells")
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	c := start(t, cmd)
	for _, limit := range All {
		if said := c.line(); !strings.HasPrefix(said, string(limit)+" cannot be bounded: ") {
			t.Errorf("%s: %s", limit, said)
		}
	}
	if said := c.line(); said != "<nil> 0 []" {
		t.Error("it made a group:", said)
	}
}

func BenchmarkGroup(b *testing.B) {
	tree := Find()
	for b.Loop() {
		g, err := tree.Create("bench", Limits{Memory: 1 << 30, CPU: 0.5, PIDs: 100})
		if err != nil || g.Close() != nil {
			b.Fatal(g, err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		Find()
	}
}
