package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// addNamespaces gives a process namespaces, and makes the kernel kill it when the thread
// that starts it ends.
//
// /proc stays that of the host: a new one would have to be mounted between fork and exec,
// for which Go has no place. /proc/self is right all the same, as it is resolved in the
// namespace of the mount; only /proc/NUMBER is not what the numbers inside say.
func addNamespaces(attr *syscall.SysProcAttr, n Namespaces) {
	attr.Pdeathsig = syscall.SIGKILL
	switch n {
	case UserNamespace:
		uid, gid := os.Getuid(), os.Getgid()
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER
	case PIDNamespace:
		attr.Cloneflags = syscall.CLONE_NEWPID
	}
}

// Check returns why this process cannot start others in such namespaces; nil: it can. Only if the
// error is [Impossible] it never can.
func (n Namespaces) Check() (err error) {
	switch n {
	case PIDNamespace:
		_, err = pidNamespace()
	case UserNamespace:
		_, err = userNamespace()
	}
	return err
}

var pidNamespace = Found(func() (Namespaces, error) {
	return PIDNamespace, NoneAllowed(tryClone(syscall.CLONE_NEWPID), "pid")
})

var userNamespace = Found(func() (Namespaces, error) {
	if !procIsOwn() { // the users are mapped by a file there
		return UserNamespace, fmt.Errorf("%w: /proc belongs to another PID namespace", errors.ErrUnsupported)
	}
	return UserNamespace, NoneAllowed(tryClone(syscall.CLONE_NEWPID|syscall.CLONE_NEWUSER), "user", "pid")
})

// NoneAllowed makes an error for want of namespaces one for good if the system's settings allow none
// of one of these kinds, which are named as in /proc/sys/user (namespaces(7)).
func NoneAllowed(err error, kinds ...string) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	for _, kind := range kinds {
		setting := "max_" + kind + "_namespaces"
		if text, _ := os.ReadFile("/proc/sys/user/" + setting); strings.TrimSpace(string(text)) == "0" {
			return fmt.Errorf("user.%s is 0: %w", setting, syscall.EPERM)
		}
	}
	return err
}

// tryClone clones a process that has nothing to run. Capabilities alone do not tell: a
// container's filter of system calls may forbid it to root.
func tryClone(flags uintptr) error {
	cmd := exec.Command("/proc/self/none") //nolint:noctx // it fails at once
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	err := cmd.Start()
	switch {
	case err == nil:
		_ = cmd.Process.Kill()
		return errors.Join(errors.New("/proc/self/none was run"), cmd.Wait())
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}
