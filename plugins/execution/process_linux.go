package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/procs"
)

// confinement is how a process is set apart.
type confinement struct{ flags uintptr }

// confinements are all there are, the strongest first: a PID namespace, whose
// processes the kernel ends with their first; one in a user namespace, for those
// who are not root; and a process group, which a process can leave.
var confinements = []confinement{{syscall.CLONE_NEWPID}, {syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER}, {}}

// possible is false for a user namespace where /proc belongs to another PID
// namespace: its users are mapped through a file there, by process number.
func (c confinement) possible() bool {
	self, err := os.Readlink("/proc/self")
	return c.flags&syscall.CLONE_NEWUSER == 0 || err == nil && self == strconv.Itoa(os.Getpid())
}

// apply makes the process the leader of a session, and with it of a group, which has no
// terminal, whatever host has started the plugin.
func (c confinement) apply(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: c.flags}
	if c.flags&syscall.CLONE_NEWUSER != 0 {
		uid, gid := os.Getuid(), os.Getgid()
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	cmd.SysProcAttr = attr
}

// reap waits for the process to end, calls ended, and ends what it left. Until it is
// reaped its number, and so its group's, cannot be given to another.
func (p *process) reap(cmd *exec.Cmd, ended func()) error {
	var info unix.Siginfo
	for {
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	ended()
	kill(cmd.Process)
	p.endMarked()
	err := cmd.Wait()
	reapGroup(cmd.Process.Pid)
	return err
}

// usage counts the processes of a run and their resident memory. They are found by
// their PID namespace, which is known by its number whatever /proc calls its
// processes, or by their environment.
func (p *process) usage() (processes int, memory int64) {
	space := p.space()
	procs.Each(time.Now().Add(endTime), func(other procs.Process) {
		if p.owns(other, space) {
			processes++
			memory += resident(other)
		}
	})
	return processes, memory
}

// ownSpace is the PID namespace of this process.
var ownSpace = sync.OnceValue(func() string {
	link, _ := os.Readlink("/proc/self/ns/pid")
	return link
})

// space is the namespace that the run has to itself; empty: none, or it has not
// said.
func (p *process) space() string {
	link, _ := p.told.Load().(string)
	if link == ownSpace() {
		return ""
	}
	return link
}

func (p *process) owns(other procs.Process, space string) bool {
	if space != "" {
		return other.Namespace() == space
	}
	return bytes.Contains(other.Environ(), []byte(markVariable+"="+p.mark))
}

func resident(p procs.Process) int64 {
	fields := strings.Fields(string(p.File("statm")))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// endTime bounds how long ending what a run left may take.
const endTime = time.Second

// endMarked ends processes that left the group of a run without a namespace. It
// finds those that kept the run's mark in their environment. It looks once more when
// none is left, as a process that is just becoming another program has none.
func (p *process) endMarked() {
	if p.space() != "" {
		return
	}
	until := time.Now().Add(endTime)
	for clean := 0; clean < 2 && time.Now().Before(until); clean++ {
		if p.killMarked(until) > 0 {
			clean = -1
		}
	}
}

func (p *process) killMarked(until time.Time) (n int) {
	procs.Each(until, func(other procs.Process) {
		pid := numberOf(other)
		if pid == 0 || pid == os.Getpid() || !p.owns(other, "") {
			return
		}
		if wait := other.Kill(pid); wait != nil {
			n++
			wait(until)
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // an orphan may have become our child
		}
	})
	return n
}

// numberOf is a process's number in our namespace, which is not what /proc calls it
// where that belongs to another; 0: it is in another namespace, or has ended.
func numberOf(p procs.Process) int {
	if p.Namespace() != ownSpace() {
		return 0
	}
	for line := range strings.Lines(string(p.File("status"))) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers) // from the outermost namespace to its own
			pid, _ := strconv.Atoi(fields[len(fields)-1])
			return pid
		}
	}
	return 0
}

// reapGroup waits for members of an ended process's group that became our children,
// as they do where we are the first of a namespace: nobody else would.
func reapGroup(group int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(endTime); time.Now().Before(until); {
		pid, err := unix.Wait4(-group, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR || pid > 0:
		case err != nil:
			return
		default:
			<-tick.C
		}
	}
}
