package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	eachProcess(func(dir string) {
		if p.owns(dir, space) {
			processes++
			memory += resident(dir)
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
	link, err := os.ReadFile(filepath.Join(p.private, "space"))
	if err != nil || string(link) == ownSpace() {
		return ""
	}
	return string(link)
}

func (p *process) owns(dir, space string) bool {
	if space != "" {
		link, err := os.Readlink(dir + "/ns/pid")
		return err == nil && link == space
	}
	env, err := os.ReadFile(dir + "/environ")
	return err == nil && bytes.Contains(env, []byte(markVariable+"="+p.mark))
}

func resident(dir string) int64 {
	statm, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func eachProcess(f func(dir string)) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, _ := proc.Readdirnames(-1)
	_ = proc.Close()
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			f("/proc/" + name)
		}
	}
}

// endTime bounds how long ending what a run left may take.
const endTime = time.Second

// endMarked ends processes that left the group of a run without a namespace. It
// finds those that kept the run's mark in their environment.
func (p *process) endMarked() {
	if p.space() != "" {
		return
	}
	for until := time.Now().Add(endTime); p.killMarked() > 0 && time.Now().Before(until); {
	}
}

func (p *process) killMarked() (n int) {
	eachProcess(func(dir string) {
		pid := numberOf(dir)
		if pid == 0 || pid == os.Getpid() || !p.owns(dir, "") {
			return
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		// From here on the descriptor is of one process, whatever its number becomes.
		if p.owns(dir, "") && numberOf(dir) == pid && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			n++
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(endTime.Milliseconds()))
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // an orphan may have become our child
		}
	})
	return n
}

// numberOf is a process's number in our namespace, which is not what /proc calls it
// where that belongs to another; 0: it is in another namespace, or has ended.
func numberOf(dir string) int {
	if link, err := os.Readlink(dir + "/ns/pid"); err != nil || link != ownSpace() {
		return 0
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
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
