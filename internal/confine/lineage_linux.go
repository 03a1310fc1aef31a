package confine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of what is read of a process that may be hostile: it can make its environment as
// large as it likes, and can make reading it wait.
const (
	maxStatus   = 64 << 10
	environTime = time.Second
	maxParents  = 256
)

// environs bounds how many environments are being read: one that waits keeps a thread.
var environs = make(chan struct{}, 4)

// OfPlugin returns why a process, which may be at the other end of a socket, counts as a
// plugin's; empty: it does not. It counts if it descends from host (0: from none that is
// known), lives in a PID namespace below this process's, or has a [RunVariable] in its
// environment that this process does not have. A process of which nothing can be read, or
// that has left its parents and cleared or hidden its environment, is not found.
func OfPlugin(pid, host int) (why string) {
	if pid <= 0 || pid == os.Getpid() {
		return ""
	}
	mine, err1 := depthOf(os.Getpid())
	theirs, err2 := depthOf(pid)
	switch {
	case err1 != nil || err2 != nil:
		return ""
	case theirs > mine:
		return "the process lives in a PID namespace of its own"
	case host != 0 && descends(pid, host):
		return fmt.Sprintf("the process descends from process %d, which runs plugins", host)
	case isMarked(pid):
		return "the environment of the process says so"
	}
	return ""
}

func descends(pid, from int) bool {
	for range maxParents {
		parent, err := Parent(pid)
		if err != nil || parent <= 1 {
			return false
		}
		if parent == from {
			return true
		}
		pid = parent
	}
	return false
}

// Parent returns the number of a process's parent.
func Parent(pid int) (int, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/stat has no parent", pid)
	}
	return strconv.Atoi(fields[1])
}

// depthOf returns in how many PID namespaces a process is; 0: the kernel has none. The file
// is open to every user, even for a process that conceals itself.
func depthOf(pid int) (int, error) {
	text, err := readBounded(fmt.Sprintf("/proc/%d/status", pid), maxStatus)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return len(strings.Fields(numbers)), nil
		}
	}
	return 0, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// isMarked reports whether the environment of a process of this user names a run other
// than the one that this process belongs to. An environment that is too large, or cannot
// be read in time, is meant to hide something.
func isMarked(pid int) bool {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return false
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return false
	}
	select {
	case environs <- struct{}{}:
	default:
		return false // all of them wait; the other signs are left
	}
	marked := make(chan bool, 1)
	go func() {
		defer func() { <-environs }()
		env, err := readBounded(fmt.Sprintf("/proc/%d/environ", pid), MaxEnviron)
		marked <- err == nil && (len(env) == MaxEnviron || hasOtherRun(env, os.Getenv(RunVariable)))
	}()
	timer := time.NewTimer(environTime)
	defer timer.Stop()
	select {
	case found := <-marked:
		return found
	case <-timer.C:
		return true
	}
}

// hasOtherRun reports whether an environment names a run that is not this one.
func hasOtherRun(env []byte, own string) bool {
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if run, ok := bytes.CutPrefix(kv, []byte(RunVariable+"=")); ok && string(run) != own {
			return true
		}
	}
	return false
}
