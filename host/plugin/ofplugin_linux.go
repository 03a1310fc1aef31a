package plugin

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of what is read of a process that may be hostile. A process can make its
// environment as large as it likes, and can make reading it wait; execve takes 2 MiB.
const (
	maxStatus  = 64 << 10
	maxEnviron = 2 << 20
	lookTime   = time.Second
)

// environs bounds how many environments are being read: one that waits keeps a thread.
var environs = make(chan struct{}, 4)

// OfPlugin says why a process, which may be at the other end of a socket, counts as a
// plugin's; empty: it does not. It counts if it descends from a host (0: from none that is
// known), lives in a PID namespace below this process's, or has another TOOLHOST_RUN in its
// environment than this process. A process of which nothing can be read, or that has left
// its parents and cleared or hidden its environment, is not found.
func OfPlugin(pid, host int) (why string) {
	if pid <= 0 || pid == os.Getpid() {
		return ""
	}
	mine, ok := statusOf(os.Getpid())
	if !ok {
		return ""
	}
	theirs, ok := statusOf(pid)
	switch {
	case !ok:
		return ""
	case theirs.depth > mine.depth:
		return "it lives in a PID namespace of its own"
	}
	for at, ups := theirs, 0; host != 0 && at.parent > 1 && ups < 256; ups++ {
		if at.parent == host {
			return fmt.Sprintf("it descends from process %d, which runs plugins", at.parent)
		}
		if at, ok = statusOf(at.parent); !ok {
			break
		}
	}
	if isMarked(pid) {
		return "its environment says so"
	}
	return ""
}

// lineage is a process's parent, and in how many PID namespaces it is.
type lineage struct{ parent, depth int }

// statusOf reads what is open to everybody: a process that conceals itself is found too.
func statusOf(pid int) (l lineage, ok bool) {
	text, err := readBounded(filepath.Join("/proc", strconv.Itoa(pid), "status"), maxStatus)
	if err != nil {
		return l, false
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "PPid":
			l.parent, err = strconv.Atoi(strings.TrimSpace(value))
			ok = err == nil
		case "NSpid":
			l.depth = len(strings.Fields(value))
		}
	}
	return l, ok
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// isMarked reports whether the environment of a process of this user names a run, and not
// the one that this process belongs to itself. An environment that is too large, or not to
// be had in time, is meant to hide something.
func isMarked(pid int) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	info, err := os.Stat(dir)
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
		env, err := readBounded(filepath.Join(dir, "environ"), maxEnviron)
		marked <- err == nil && (len(env) == maxEnviron || names(env, os.Getenv(runVariable)))
	}()
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	select {
	case found := <-marked:
		return found
	case <-timer.C:
		return true
	}
}

// names reports whether an environment has a run that is not this one.
func names(env []byte, own string) bool {
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if run, ok := bytes.CutPrefix(kv, []byte(runVariable+"=")); ok && string(run) != own {
			return true
		}
	}
	return false
}
