package confine

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"sync"
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

// Check returns why this process cannot start others in such namespaces; nil: it can.
func (n Namespaces) Check() error {
	switch n {
	case PIDNamespace:
		return pidNamespace()
	case UserNamespace:
		return userNamespace()
	}
	return nil
}

var pidNamespace = sync.OnceValue(func() error { return tryClone(syscall.CLONE_NEWPID) })

var userNamespace = sync.OnceValue(func() error {
	if !procIsOwn() { // the users are mapped by a file there
		return errors.New("/proc belongs to another PID namespace")
	}
	return tryClone(syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER)
})

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
