package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// A child is a process of one thread that carries out a list of system calls and ends. What
// it does to itself (namespaces, roots, rights) concerns nothing else; some of it a process
// of many threads may not do at all. It needs no program to be run.
//
// It stops at the first call that fails, unless that is soft.
type child struct {
	steps []step
	kept  []any // what the steps point to
	// out is shared with the process: what each call returned, or an error below zero.
	out []int64
	pid int
	// flags are those of its own clone, besides the signal that tells its parent of its end.
	flags uintptr
}

type step struct {
	number uintptr
	args   [6]uintptr
	from   [6]int32       // of the steps whose results are arguments, plus 1; 0: none
	soft   uint32         // goes on after an error
	leaves uint32         // ends the process if the result is not 0, as for the parent of a clone
	parent uint32         // the step from which on the parent of a clone goes on; 0: the next
	code   func() uintptr // runs in place of the call; nil: the call is made
}

// result is an argument that an earlier step returns.
type result int32

const notRun = -1 << 62

// do adds a call, and returns its result for later ones. Arguments are integers, strings
// (paths), byte slices, pointers or results.
func (c *child) do(number uintptr, args ...any) result {
	s := step{number: number}
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			s.args[i] = uintptr(v)
		case uintptr:
			s.args[i] = v
		case result:
			s.from[i] = int32(v) + 1
		case string:
			text, err := unix.BytePtrFromString(v)
			if err != nil {
				panic(err)
			}
			s.args[i] = uintptr(unsafe.Pointer(text))
			c.kept = append(c.kept, text)
		case []byte:
			s.args[i] = uintptr(unsafe.Pointer(&v[0]))
			c.kept = append(c.kept, v)
		case unsafe.Pointer:
			s.args[i] = uintptr(v)
			c.kept = append(c.kept, v)
		default:
			panic(fmt.Sprintf("an argument is a %T", arg))
		}
	}
	c.steps = append(c.steps, s)
	return result(len(c.steps) - 1)
}

// try adds a call that may fail.
func (c *child) try(number uintptr, args ...any) { c.steps[c.do(number, args...)].soft = 1 }

// call adds machine code that makes a call its own way.
func (c *child) call(code func() uintptr) { c.steps = append(c.steps, step{code: code}) }

// fork adds a clone: the steps after it are its child's, and the parent ends.
func (c *child) fork(flags int) { c.steps[c.do(unix.SYS_CLONE, flags)].leaves = 1 }

// start forks.
func (c *child) start() error {
	shared, err := unix.Mmap(-1, 0, 8*len(c.steps), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	c.out = unsafe.Slice((*int64)(unsafe.Pointer(&shared[0])), len(c.steps))
	for i := range c.out {
		c.out[i] = notRun
	}
	pid, errno := carryOut(&c.steps[0], &c.out[0], len(c.steps), c.flags)
	c.pid = int(pid)
	return errnoOf(errno)
}

// carryOut is split from the runtime: in the child there is only this thread, whatever the
// others were holding.
//
//go:nosplit
//go:norace
func carryOut(steps *step, out *int64, n int, flags uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	for i := 0; i < n; i++ {
		s := (*step)(unsafe.Add(unsafe.Pointer(steps), uintptr(i)*unsafe.Sizeof(step{})))
		for a := range 6 {
			if s.from[a] != 0 {
				s.args[a] = uintptr(*(*int64)(unsafe.Add(unsafe.Pointer(out), uintptr(s.from[a]-1)*8)))
			}
		}
		var r uintptr
		if s.code != nil {
			if r = s.code(); int(r) < 0 {
				errno = syscall.Errno(-r)
			}
		} else {
			r, _, errno = syscall.RawSyscall6(s.number, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5])
		}
		at := (*int64)(unsafe.Add(unsafe.Pointer(out), uintptr(i)*8))
		if errno != 0 {
			*at = -int64(errno)
			if s.soft == 0 {
				break
			}
			continue
		}
		if s.leaves != 0 {
			if r != 0 {
				_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
			}
			continue
		}
		*at = int64(r)
		if s.parent != 0 && r != 0 {
			i = int(s.parent) - 1
		}
	}
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
}

// errEnded is the cause if the kernel ended the child.
var errEnded = errors.New("the child was ended")

// wait waits until the child has ended, a few seconds at most, and returns the error of the
// first call that was not soft.
func (c *child) wait() error {
	late := time.AfterFunc(patience/4, func() { _ = unix.Kill(c.pid, unix.SIGKILL) })
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil) == unix.EINTR {
	}
	late.Stop()
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(c.pid, &status, unix.WALL, nil); err != unix.EINTR {
			break
		}
	}
	runtime.KeepAlive(c)
	if err := c.firstError(); err != nil {
		return err
	}
	if status.Signaled() {
		return fmt.Errorf("%w: %v", errEnded, status.Signal())
	}
	return nil
}

// firstError is that of the first call that was not soft.
func (c *child) firstError() error {
	for i, s := range c.steps {
		if c.out[i] < 0 && c.out[i] > -4096 && s.soft == 0 {
			return syscall.Errno(-c.out[i])
		}
	}
	return nil
}

// run starts the child and waits for it.
func (c *child) run() error {
	if err := c.start(); err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	return c.wait()
}

// value returns what a step returned, and its error.
func (c *child) value(r result) (int64, error) {
	if v := c.out[r]; v == notRun {
		return 0, errors.New("the step was not reached")
	} else if v < 0 && v > -4096 {
		return 0, syscall.Errno(-v)
	}
	return c.out[r], nil
}

// exec adds the steps that run a program with its output in a pipe: way adds the call itself,
// with the addresses of the arguments and of the environment.
func (c *child) exec(way func(argv, envp unsafe.Pointer), args ...string) escape.Answer {
	r, w, err := os.Pipe()
	if err != nil {
		return inconclusive("pipe: %v", err)
	}
	defer func() { _ = r.Close() }()
	argv := make([]*byte, len(args)+1)
	for i, arg := range args {
		argv[i], _ = unix.BytePtrFromString(arg)
	}
	envp := make([]*byte, 1)
	c.kept = append(c.kept, argv, envp)
	c.do(unix.SYS_DUP3, int(w.Fd()), 1, 0)
	way(unsafe.Pointer(&argv[0]), unsafe.Pointer(&envp[0]))
	err = c.start()
	_ = w.Close()
	if err != nil {
		return outcome(fmt.Errorf("fork: %w", err))
	}
	_ = r.SetReadDeadline(time.Now().Add(patience / 4))
	printed, _ := io.ReadAll(r)
	if err := c.wait(); err != nil && len(printed) == 0 {
		if errors.Is(err, errEnded) {
			return denied(err.Error())
		}
		return outcome(err)
	}
	if len(printed) == 0 {
		return denied("it printed nothing")
	}
	return found(printed)
}
