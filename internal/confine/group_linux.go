package confine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Usage counts the processes of the group and adds up their resident memory, in bytes.
// A namespace is known by its number whatever /proc calls its processes.
func (g Group) Usage() (processes int, memory int64) {
	Each(time.Now().Add(endTime), func(p Process) {
		if g.has(p) {
			processes++
			memory += p.resident()
		}
	})
	return processes, memory
}

// End kills what the group's first process left when it ended and was reaped, and waits for that,
// for some seconds at most. A group with a namespace was ended by the kernel.
func (g Group) End() {
	defer tend()
	g.Forget()
	if g.hasNamespace() || g.Mark == "" {
		return
	}
	until := time.Now().Add(endTime)
	// Look once more when none is left: a process that is just becoming another program
	// has no environment.
	for clean := 0; clean < 2 && time.Now().Before(until); clean++ {
		if endAll(g.has) > 0 {
			clean = -1
		}
	}
}

func (g Group) hasNamespace() bool { return g.Namespace != "" && g.Namespace != ownNamespace() }

func (g Group) has(p Process) bool {
	if g.hasNamespace() {
		return p.Namespace() == g.Namespace
	}
	return g.Brand != 0 && p.brand() == g.Brand && !p.isZombie() || g.Mark != "" && hasEntry(p.Environ(), g.Mark)
}

// hasEntry reports whether an environment has an entry that ends with the mark. It is
// quick on large environments, which a process may make up.
func hasEntry(env []byte, mark string) bool {
	for found := true; found; {
		_, env, found = bytes.Cut(env, []byte(mark))
		if found && (len(env) == 0 || env[0] == 0) {
			return true
		}
	}
	return false
}

// lookTime bounds one look at all processes: what it leaves out lives on. On a busy machine, fifty can take
// a second.
const lookTime = 5 * time.Second

// endAll kills the chosen processes, waits until they have ended, and returns how many
// there were. It waits little longer than that may take, whatever the kernel does with them.
func endAll(chosen func(Process) bool) int {
	ended := make(chan int, 1)
	go func() { ended <- killAll(chosen) }()
	late := time.NewTimer(lookTime + 2*endTime)
	defer late.Stop()
	select {
	case n := <-ended:
		return n
	case <-late.C:
		return 0
	}
}

func killAll(chosen func(Process) bool) int {
	var ending []func(until time.Time)
	Each(time.Now().Add(lookTime), func(p Process) {
		if !chosen(p) {
			return
		}
		pid := p.number()
		if pid == 0 || pid == os.Getpid() {
			return
		}
		if wait := p.kill(pid); wait != nil {
			ending = append(ending, func(until time.Time) {
				wait(until)
				runs.Lock()
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // an orphan may have become a child of this process
				runs.Unlock()
			})
		}
	})
	until := time.Now().Add(endTime)
	for _, wait := range ending {
		wait(until)
	}
	return len(ending)
}

// AwaitExit returns true when a child has ended but is not reaped yet: until it is, its
// number, and so its group's, cannot be given to another process.
func AwaitExit(pid int) bool {
	var info unix.Siginfo
	for {
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}

// ReapGroup waits, for a second at most, for members of a group that became children of
// this process when the group's leader ended. That happens to the first process of a
// namespace, and nothing else would reap them.
func ReapGroup(pgid int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(endTime); time.Now().Before(until); {
		pid, err := unix.Wait4(-pgid, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR || pid > 0:
		case err != nil:
			return
		default:
			<-tick.C
		}
	}
}

// ownNamespace is the PID namespace of this process; empty: it cannot be read.
var ownNamespace = sync.OnceValue(func() string {
	link, _ := os.Readlink("/proc/self/ns/pid")
	return link
})

// procIsOwn reports whether /proc has the numbers that system calls take. In a PID
// namespace without a /proc of its own it has those of the namespace outside.
var procIsOwn = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// resident is the process's resident memory, in bytes.
func (p Process) resident() int64 {
	fields := strings.Fields(string(p.File("statm")))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
