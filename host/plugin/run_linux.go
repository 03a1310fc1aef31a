package plugin

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/procs"
)

// A plugin's processes are known by a variable of their environment, which their
// descendants inherit, whatever session or parent they make themselves:
//
//	TOOLHOST_RUN=NUMBER.START.NAMESPACE.BOOT/RUN
//
// the host's process number, when it was started, in which PID namespace, and
// since which boot that is said; and a count of the host's starts. A process that
// clears its environment is not found.
const runVariable = "TOOLHOST_RUN"

// identity says which process a host is, unmistakably.
type identity struct {
	pid   int
	start uint64 // ticks since boot
	space string // number of the PID namespace
	boot  string
}

func (i identity) String() string { return fmt.Sprintf("%d.%d.%s.%s", i.pid, i.start, i.space, i.boot) }

func parseIdentity(s string) (i identity, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return i, false
	}
	var err1, err2 error
	i.pid, err1 = strconv.Atoi(parts[0])
	i.start, err2 = strconv.ParseUint(parts[1], 10, 64)
	i.space, i.boot = parts[2], parts[3]
	return i, err1 == nil && err2 == nil && i.pid > 0
}

// self is this process. It fails where /proc is missing or shows other numbers than
// system calls take, as in a PID namespace without a /proc of its own: there, nobody
// is looked for.
var self = sync.OnceValues(func() (identity, error) {
	me := identity{pid: os.Getpid()}
	shown, err := os.Readlink("/proc/self")
	if err != nil {
		return me, err
	}
	if shown != strconv.Itoa(me.pid) {
		return me, fmt.Errorf("/proc shows process %d as %s: it belongs to another PID namespace", me.pid, shown)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return me, err
	}
	me.space = strings.Trim(space, "pid:[]")
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return me, err
	}
	me.boot, _, _ = strings.Cut(string(boot), "-")
	var alive bool
	if me.start, alive = started(me.pid); !alive {
		return me, fmt.Errorf("/proc/%d/stat says nothing", me.pid)
	}
	return me, nil
})

// started is when a process was started; false: there is none, or it has ended and
// was not reaped.
func started(pid int) (uint64, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	name := bytes.LastIndex(stat, []byte(") ")) // it may have brackets and spaces itself
	if err != nil || name < 0 {
		return 0, false
	}
	fields := strings.Fields(string(stat[name+2:])) // from the third on: proc_pid_stat(5)
	if len(fields) < 20 {
		return 0, false
	}
	if state := fields[0]; state == "X" || state == "Z" && !hasThreads(pid) {
		return 0, false
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return start, err == nil
}

// hasThreads reports whether a process lives on without its first thread.
func hasThreads(pid int) bool {
	tasks, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false
	}
	defer func() { _ = tasks.Close() }()
	names, _ := tasks.Readdirnames(2) // another's may be many
	return len(names) > 1
}

// isDead reports whether a host is dead for certain: it was in our PID namespace
// since this boot, and its number is nobody's or another's.
func (i identity) isDead(me identity) bool {
	if i.space != me.space || i.boot != me.boot {
		return false
	}
	start, alive := started(i.pid)
	return !alive || start != i.start
}

var runs atomic.Uint64

// newRun is what the environment of a new run says; empty: nothing.
func newRun() string {
	me, err := self()
	if err != nil {
		return ""
	}
	return me.String() + "/" + strconv.FormatUint(runs.Add(1), 10)
}

// endTime bounds how long ending what a run left may take: processes may go on to
// start others.
const endTime = time.Second

// endRun ends the processes of a run that has ended. It looks once more when none is
// left, as a process that is just becoming another program has no environment.
func endRun(run string) {
	if run == "" {
		return
	}
	mine := func(s string) bool { return s == run }
	end := time.Now().Add(endTime)
	for clean := 0; clean < 2 && time.Now().Before(end); clean++ {
		if endProcesses(mine, end) > 0 {
			clean = -1
		}
	}
}

// endProcesses kills the processes of this user whose environment names a run that
// is chosen, waits until they have ended, and returns how many there were. What one of
// them holds up, in the kernel's hands, is not waited for much beyond the time.
func endProcesses(chosen func(run string) bool, until time.Time) int {
	ended := make(chan int, 1)
	go func() { ended <- killProcesses(chosen, until) }()
	late := time.NewTimer(time.Until(until) + endTime)
	defer late.Stop()
	select {
	case n := <-ended:
		return n
	case <-late.C:
		return 0
	}
}

func killProcesses(chosen func(run string) bool, until time.Time) int {
	var ending []func(until time.Time)
	procs.Each(until, func(p procs.Process) {
		if p.Number == os.Getpid() {
			return
		}
		if run := runOf(p.Environ()); run == "" || !chosen(run) {
			return
		}
		if wait := p.Kill(p.Number); wait != nil {
			ending = append(ending, wait)
		}
	})
	for _, wait := range ending {
		wait(until)
	}
	return len(ending)
}

// maxRun bounds what newRun gives, in bytes.
const maxRun = 128

// runOf is the run that an environment names; empty: none.
func runOf(env []byte) string {
	for len(env) > 0 {
		kv, rest, _ := bytes.Cut(env, []byte{0})
		if run, ok := bytes.CutPrefix(kv, []byte(runVariable+"=")); ok {
			if len(run) > maxRun {
				return ""
			}
			return string(run)
		}
		env = rest
	}
	return ""
}
