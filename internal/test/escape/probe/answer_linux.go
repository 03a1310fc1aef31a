package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

func done(note string) escape.Answer { return escape.Answer{Outcome: escape.Done, Note: note} }

func found[T string | []byte](text T) escape.Answer {
	return escape.Answer{Outcome: escape.Done, Found: string(text)}
}

func denied(note string) escape.Answer { return escape.Answer{Outcome: escape.Denied, Note: note} }

func inconclusive(note string, args ...any) escape.Answer {
	return escape.Answer{Outcome: escape.Inconclusive, Note: fmt.Sprintf(note, args...)}
}

// The errors of a kernel that does not have what was asked for, and those of a question that
// was put wrongly: the attempt itself is at fault, and has shown nothing.
var (
	missing  = []syscall.Errno{unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT, unix.ENODEV, unix.EOPNOTSUPP}
	mistakes = []syscall.Errno{unix.EINVAL, unix.EFAULT, unix.EBADF, unix.ENOTSOCK, unix.EDESTADDRREQ, unix.EALREADY, unix.EISCONN, unix.ENOEXEC, unix.EISDIR, unix.EEXIST}
)

// outcome is how something ended that returns an error or nil.
func outcome(err error) escape.Answer {
	if err == nil {
		return done("")
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return denied("nothing answered")
	case !errors.As(err, &errno):
		return inconclusive("%v", err)
	}
	a := escape.Answer{Outcome: escape.Denied, Errno: unix.ErrnoName(errno), Note: err.Error()}
	switch {
	case slices.Contains(missing, errno):
		a.Outcome = escape.Unavailable
	case slices.Contains(mistakes, errno):
		a.Outcome = escape.Inconclusive
	}
	return a
}

// reached is the outcome of a call with arguments that cannot be right: it was done if the
// kernel looked at them, which it does after it has looked at the rights.
func reached(err error, shows ...syscall.Errno) escape.Answer {
	for _, errno := range shows {
		if errors.Is(err, errno) {
			return done("the kernel looked at its arguments: " + errno.Error())
		}
	}
	return outcome(err)
}

// content is the outcome of reading a file.
func content(path string) escape.Answer {
	text, err := os.ReadFile(path)
	if err != nil {
		return outcome(err)
	}
	return found(text)
}

// errnoOf returns nil for 0.
func errnoOf(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// call makes a system call. Arguments are integers and pointers, which are kept alive.
func call(number uintptr, args ...any) (uintptr, error) {
	var c child
	c.do(number, args...)
	a := &c.steps[0].args
	r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	runtime.KeepAlive(&c)
	return r, errnoOf(errno)
}
