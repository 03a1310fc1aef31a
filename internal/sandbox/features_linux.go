//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Detect returns what this system has. It tries each mechanism in a process of its own, once:
// whether a kernel has something does not tell whether a container or a security module lets
// this user use it.
var Detect = sync.OnceValue(detect)

func detect() Features {
	f := Features{Landlock: landlockABI(), Seccomp: seccompHas(unix.SECCOMP_RET_ERRNO)}
	f.Notify = f.Seccomp && listens(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if f.Stage = try(Features{Stage: true}, nil) == nil; !f.Stage {
		return Features{}
	}
	for _, f.Privileged = range []bool{true, false} {
		f.User = !f.Privileged
		if try(f, nil) == nil {
			break
		}
		f.User = false
	}
	if !f.Namespaces() {
		return f
	}
	view := f
	view.Mounts, view.Proc = true, true
	mounts := func(v Features) error {
		return try(v, func(p *stage.Program) { newView(p, v, Profile{Dir: "/"}, files{}, true) })
	}
	if mounts(view) != nil {
		view.Proc = false
		view.Mounts = mounts(view) == nil
	}
	f.Mounts, f.Proc = view.Mounts, view.Proc
	f.Network = try(f, func(p *stage.Program) {
		p.Call("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWNET)
		raiseLoopback(p)
	}) == nil
	return f
}

// try starts a process with the namespaces of f that carries out the steps and ends.
func try(f Features, steps func(p *stage.Program)) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	cmd := exec.Command("") //nolint:noctx // it ends at once
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = null, null, null, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if f.Namespaces() {
		Clone(cmd.SysProcAttr, f)
	}
	started := false
	err = stage.Start(cmd, func(_, free int) *stage.Program {
		p := stage.NewProgram(free)
		p.Call("close", unix.SYS_CLOSE_RANGE, uintptr(free), lastDescriptor, 0)
		if f.Namespaces() {
			mapUser(p, f)
			p.Call("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWNS|unix.CLONE_NEWIPC)
		}
		if steps != nil {
			steps(p)
		}
		p.Call("exit", unix.SYS_EXIT_GROUP, 0)
		return p
	}, func(int) { started = true }, nil)
	if started {
		err = errors.Join(err, cmd.Wait())
	}
	return err
}

// Clone gives a process that begins as the stage namespaces, in which the stage may make
// others.
func Clone(attr *syscall.SysProcAttr, f Features) {
	attr.UidMappings, attr.GidMappings = nil, nil
	attr.Cloneflags = unix.CLONE_NEWPID
	if f.User {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		// The stage has no user yet, and so would lose them when it is run.
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP}
	}
}

// landlockABI returns the version of Landlock's interface; 0: there is none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v) //nolint:gosec // small
}

// seccompHas reports whether a filter may answer a system call so.
func seccompHas(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// listens reports whether a filter with a listener may be installed with these flags: not by a plugin.
func listens(flags uintptr) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	return errno == unix.EFAULT // as it is at no address
}
