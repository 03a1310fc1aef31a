package confine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// owner identifies a process among all that this machine has had since it was installed.
type owner struct {
	pid   int
	start uint64 // ticks since boot
	space string // number of the PID namespace
	boot  string
}

func (o owner) String() string { return fmt.Sprintf("%d.%d.%s.%s", o.pid, o.start, o.space, o.boot) }

func parseOwner(s string) (owner, bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return owner{}, false
	}
	pid, err1 := strconv.Atoi(parts[0])
	start, err2 := strconv.ParseUint(parts[1], 10, 64)
	return owner{pid, start, parts[2], parts[3]}, err1 == nil && err2 == nil && pid > 0
}

// self identifies this process. It fails if /proc is missing or has other numbers than
// system calls take: then nothing is looked for.
var self = Found(func() (owner, error) {
	me := owner{pid: os.Getpid()}
	if !procIsOwn() {
		return me, fmt.Errorf("/proc is missing or belongs to another PID namespace than process %d", me.pid)
	}
	me.space = strings.Trim(ownNamespace(), "pid:[]")
	if me.space == "" {
		return me, errors.New("/proc/self/ns/pid cannot be read")
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return me, err
	}
	me.boot, _, _ = strings.Cut(string(boot), "-")
	me.start, err = startOf(me.pid)
	return me, err
})

// isDead reports whether a process has certainly ended: it was in the PID namespace of me
// since this boot, and no process has its number, or another one has. A number that cannot be
// looked at, as for want of descriptors, says nothing.
func (o owner) isDead(me owner) bool {
	if o.space != me.space || o.boot != me.boot {
		return false
	}
	start, err := startOf(o.pid)
	if err != nil {
		return errors.Is(err, errEnded)
	}
	return start != o.start
}

// errEnded is the error for a process that has ended.
var errEnded = errors.New("there is no such process")

// startOf returns when a process was started, in ticks since boot.
//
// # Errors
//
// [errEnded], also for one that was not reaped; others, if it cannot be told.
func startOf(pid int) (uint64, error) {
	fields, err := statOf(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH): // ESRCH: while it was read
		return 0, errEnded
	case err != nil:
		return 0, err
	case len(fields) < 20:
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	case fields[0] == "X":
		return 0, errEnded
	case fields[0] == "Z":
		if lives, err := hasThreads(pid); err != nil || !lives {
			return 0, cmp.Or(err, errEnded)
		}
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// statOf returns the fields of /proc/PID/stat from the third on (proc_pid_stat(5)): the
// second, the name, may have brackets and spaces itself.
func statOf(pid int) ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return fieldsOf(stat), err
}

func fieldsOf(stat []byte) []string {
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// hasThreads reports whether a process lives on without its first thread.
func hasThreads(pid int) (bool, error) {
	tasks, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	defer func() { _ = tasks.Close() }()
	names, _ := tasks.Readdirnames(2) // another process may have many
	return len(names) > 1, nil
}

var marks atomic.Uint64

// NewRun returns the group of one more run of a program that this host starts, with a mark such
// as "TOOLHOST_RUN=4711.815.4026531836.c0ffee00/1"; empty: this process cannot be identified,
// and nothing that it starts is found.
func NewRun() (g Group) {
	me, err := self()
	if err != nil {
		return g
	}
	count := marks.Add(1)
	g.Mark = RunVariable + "=" + me.String() + "/" + strconv.FormatUint(count, 10)
	if ownBrand() == unbranded {
		g.Brand = newBrand(me, count)
	}
	return g
}

// NewName returns a name for something that this host makes and a later one can find if this
// one is killed, such as "toolhost-4711.815.4026531836.c0ffee00-1-fs"; of what it is for, at
// most 64 letters, digits, dashes and underscores stay.
//
// # Errors
//
// This process cannot be identified.
func NewName(purpose string) (string, error) {
	me, err := self()
	if err != nil {
		return "", err
	}
	kept := func(r rune) rune {
		if r < 128 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}
	purpose = strings.Map(kept, purpose)
	count := strconv.FormatUint(marks.Add(1), 10)
	return DirPrefix + me.String() + "-" + count + "-" + purpose[:min(len(purpose), 64)], nil
}

// Orphaned reports whether a name is one of [NewName] by a host that is certainly dead.
func Orphaned(name string) bool {
	me, err := self()
	text, ours := strings.CutPrefix(name, DirPrefix)
	text, _, counted := strings.Cut(text, "-")
	host, ok := parseOwner(text)
	return err == nil && ours && counted && ok && host.isDead(me)
}

// maxRun bounds the value of [RunVariable], in bytes.
const maxRun = 128

// ownerIn returns who started the process with this environment, as its mark says.
func ownerIn(env []byte) (text string, ok bool) {
	for len(env) > 0 {
		kv, rest, _ := bytes.Cut(env, []byte{0})
		if run, ok := bytes.CutPrefix(kv, []byte(RunVariable+"=")); ok {
			host, _, ok := strings.Cut(string(run[:min(len(run), maxRun+1)]), "/")
			return host, ok && len(run) <= maxRun
		}
		env = rest
	}
	return "", false
}

// CheckSweep returns why processes and directories that a host left cannot be found; nil:
// they can.
func CheckSweep() error {
	if _, err := self(); err != nil {
		return err
	}
	me, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	return unix.Close(me)
}
