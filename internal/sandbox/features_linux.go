//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/stage"
)

// simple are the features that are found without a process.
func simple() Features {
	f := Features{Landlock: landlockABI(), Seccomp: seccompHas(unix.SECCOMP_RET_ERRNO)}
	f.Notify = f.Seccomp && listens(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	return f
}

func detect() (Features, error) {
	f := simple()
	stage, err := has(Features{Stage: true}, nil)
	if !stage {
		return Features{}, err
	}
	f.Stage = true
	spaces := f
	if err := spaces.findNamespaces(); err != nil {
		return f, err
	}
	return spaces, nil
}

// findNamespaces tries what needs namespaces.
func (f *Features) findNamespaces() error {
	none := *f
	for _, way := range []Features{{Privileged: true}, {User: true, Bounded: true}, {User: true}} {
		f.Privileged, f.User, f.Bounded = way.Privileged, way.User, way.Bounded
		switch found, err := has(*f, nil); {
		case err != nil:
			return err
		case found:
			return f.findViews()
		}
	}
	*f = none
	return nil
}

// findViews tries what processes with namespaces can have of their own.
func (f *Features) findViews() (err error) {
	for _, proc := range []bool{true, false} {
		view := *f
		view.Mounts, view.Proc = true, proc
		if view.Mounts, err = has(view, func(p *stage.Program) { newView(p, view, Profile{Dir: "/"}, files{}, true) }); err != nil {
			return err
		}
		if view.Mounts {
			f.Mounts, f.Proc = true, proc
			break
		}
	}
	f.Network, err = has(*f, func(p *stage.Program) {
		p.Call("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWNET)
		raiseLoopback(p)
	})
	return err
}

// has reports whether a process can have the namespaces of f and carry out the steps.
func has(f Features, steps func(p *stage.Program)) (bool, error) {
	kinds := []string{"pid", "mnt", "ipc", "net"}
	if f.User {
		kinds = append(kinds, "user")
	}
	err := confine.NoneAllowed(try(f, steps), kinds...)
	if err != nil && !confine.Impossible(err) {
		return false, fmt.Errorf("what this system can confine a process with cannot be found out now: %w", err)
	}
	return err == nil, nil
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
			boundNamespaces(p, f)
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
		if cmd.ProcessState != nil && confine.SignalName(cmd.ProcessState) == "SIGSYS" { // a filter of system calls
			err = errors.Join(err, errors.ErrUnsupported)
		}
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
		attr.AmbientCaps = []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP,
			unix.CAP_SYS_RESOURCE,
		}
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
