package plugin

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// enter lets the process have a PID namespace, if it is to have one, and reports
// whether it will.
//
// /proc stays the host's: a new one would have to be mounted by code that runs
// between fork and exec, which Go has no place for. /proc/self is right all the same,
// as it is resolved in the namespace of the mount; only /proc/NUMBER is not what
// the numbers inside say.
func (n Namespace) enter(attr *syscall.SysProcAttr) bool {
	switch {
	case n == NamespaceOff || n != NamespaceOn && namespaces() != nil:
		return false
	case namespaces() != nil:
		uid, gid := os.Getuid(), os.Getgid()
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	attr.Cloneflags |= syscall.CLONE_NEWPID
	return true
}

// missing is why there is no namespace where one was insisted on.
func (n Namespace) missing() error {
	if n != NamespaceOn || namespaces() == nil {
		return nil
	}
	return userNamespaces()
}

// mayDoWithout reports whether a start failed because there are too many namespaces
// just now, where none was insisted on.
func (n Namespace) mayDoWithout(err error) bool {
	return n != NamespaceOn && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EUSERS))
}

// namespaces is why the host cannot make PID namespaces as it is; nil: it can.
var namespaces = sync.OnceValue(func() error { return tryNamespace(syscall.CLONE_NEWPID) })

// userNamespaces is why it cannot with a user namespace either.
var userNamespaces = sync.OnceValue(func() error { return tryNamespace(syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER) })

// tryNamespace clones a process that has nothing to run. Capabilities alone do not
// tell: a container's filter of system calls may forbid it to root.
func tryNamespace(flags uintptr) error {
	cmd := exec.Command("/proc/self/none") //nolint:noctx // it fails at once
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	err := cmd.Start()
	switch {
	case err == nil:
		_ = cmd.Process.Kill()
		return errors.Join(errors.New("it ran nothing"), cmd.Wait())
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}
