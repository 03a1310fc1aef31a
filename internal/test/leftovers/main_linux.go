// Leftovers runs a test binary as go test -exec does, and fails if that leaves something behind: a
// process, or something in its directory for temporary files, which is its own (TMPDIR). Usage:
//
//	go test -exec "$PWD/bin/leftovers" ./...
//
// If TOOLHOST_TEST_USAGE names a file, a line of it has the seconds of processor time that the tests
// and all that they started took, and the directory of their package.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long what is ending may take for it: a process that nothing waits for, such as a
// plugin whose host was killed.
var grace = 20 * time.Second

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: leftovers TEST-BINARY [ARGUMENT...]")
		os.Exit(2)
	}
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "leftovers:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}

func run(args []string) (status int, err error) {
	program, err := exec.LookPath(args[0])
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "t-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, remove(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // some tests run as another user
		return 1, err
	}
	// What loses its parent becomes a child of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT) // go test sends the last
	runtime.LockOSThread()                                                                   // the child ends with its parent's thread
	child, err := os.StartProcess(program, args, &os.ProcAttr{
		Env:   append(os.Environ(), "TMPDIR="+dir),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s)
		}
	}()
	if status, err = wait(child.Pid); err != nil {
		return 1, err
	}
	return status, errors.Join(processes(), files(dir), account())
}

// wait reaps all children until the one with this ID has ended, and returns its status.
func wait(pid int) (int, error) {
	for {
		var s unix.WaitStatus
		ended, err := unix.Wait4(-1, &s, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1, err
		case ended == pid && s.Signaled():
			return 128 + int(s.Signal()), nil
		case ended == pid:
			return s.ExitStatus(), nil
		}
	}
}

// processes waits for those that are left, and ends and reports those that stay.
func processes() error {
	stayed := map[int]error{}
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) {
			return errors.Join(slices.Collect(maps.Values(stayed))...)
		}
		if pid != 0 || time.Since(begin) < grace {
			continue
		}
		for _, pid := range children() {
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if stayed[pid] == nil {
				stayed[pid] = fmt.Errorf("the tests have ended, and process %d of theirs has not: %q", pid, strings.Split(string(words), "\x00"))
			}
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// children are those of each of this process's threads.
func children() []int {
	var out []int
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// files reports what is left in the directory for temporary files.
func files(dir string) error {
	left, err := os.ReadDir(dir)
	for _, e := range left {
		err = errors.Join(err, fmt.Errorf("the tests have left %s in their directory for temporary files", e.Name()))
	}
	return err
}

// remove removes the directory, unless something is mounted in it.
func remove(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), " "+dir+"/") {
		return fmt.Errorf("%s is kept, as something is mounted in it", dir)
	}
	return os.RemoveAll(dir)
}

// account writes down what the children have taken.
func account() error {
	name := os.Getenv("TOOLHOST_TEST_USAGE")
	if name == "" {
		return nil
	}
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%.1f %s\n", time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds(), dir)
	return errors.Join(err, f.Close())
}
