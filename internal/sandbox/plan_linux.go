//go:build linux && (amd64 || arm64)

package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/stage"
)

// Entry is what the process becomes.
type Entry struct {
	// Path is the program's, in the host's view of the files.
	Path string
	// Descriptor is the number of a descriptor that the stage has of the program, and that it
	// does not hand on; 0: it has none, and opens the path.
	Descriptor int
	// Groups are the files to which a process writes 0 to be in its control group.
	Groups []string
	// Limit is the limit of the user's processes (RLIMIT_NPROC), soft and hard.
	Limit unix.Rlimit
	// Brand is the limit by which the processes of the run are known (RLIMIT_LOCKS); 0: by none.
	Brand uint64
}

// Attributes completes the attributes of a process that begins as the stage. Its caller has set
// what concerns sessions and signals.
func (p *Plan) Attributes(attr *syscall.SysProcAttr) {
	if !p.bare && p.features.Namespaces() {
		Clone(attr, p.features)
	}
}

// Steps adds what the stage does. Report is the descriptor on which it reports.
//
// # Errors
//
// A plain error if the profile cannot be expressed.
func (p *Plan) Steps(s *stage.Program, report int, e Entry) error {
	of, f, at := p.Profile, p.features, files{}
	s.Call("close descriptors", unix.SYS_CLOSE_RANGE, uintptr(s.Free()), lastDescriptor, 0)
	closeOnExec(s, report)
	if e.Descriptor > 0 {
		closeOnExec(s, e.Descriptor)
	}
	if e.Brand != 0 {
		limit(s, "file locks", unix.RLIMIT_LOCKS, e.Brand, e.Brand)
	}
	if p.bare {
		s.Call(Enter, unix.SYS_CHDIR, s.Text(of.Dir))
		limit(s, "processes", unix.RLIMIT_NPROC, e.Limit.Cur, e.Limit.Max)
		path := s.Text(p.started(e))
		if p.Traced {
			if err := installTrace(s, report, path); err != nil {
				return err
			}
		}
		p.run(s, e, 0, path)
		return nil
	}
	for _, path := range e.Groups {
		write(s, Join, path, "0")
	}
	have := hardLimit(unix.RLIMIT_NOFILE)
	limit(s, "descriptors", unix.RLIMIT_NOFILE, have, have) // until its own are sent, whatever others hold in flight
	program := uintptr(e.Descriptor)
	if program == 0 && p.start {
		program = open(s, "open "+e.Path, e.Path, unix.O_PATH)
		s.Keep()
	}
	if f.Namespaces() {
		mapUser(s, f)
		boundNamespaces(s, f)
		spaces := uintptr(unix.CLONE_NEWIPC)
		if p.view != sameView {
			spaces |= unix.CLONE_NEWNS
		}
		if p.network {
			spaces |= unix.CLONE_NEWNET
		}
		s.Call("make namespaces", unix.SYS_UNSHARE, spaces)
	}
	if p.network {
		raiseLoopback(s)
	}
	if p.Proxy {
		for _, port := range append([]uint16{p.proxyPort()}, p.Forward...) {
			listen(s, report, port)
		}
	}
	if p.view != sameView {
		newView(s, f, of, at, p.view == grantedView)
	}
	s.Call(Enter, unix.SYS_CHDIR, s.Text(of.Dir))
	first := p.firstStart(s, program)
	applyLimits(s, p.Profile.Limits, !p.groups(cgroup.Memory))
	limit(s, "processes", unix.RLIMIT_NPROC, e.Limit.Cur, e.Limit.Max)
	s.Try(0, unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0)
	s.Call("give up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if p.landlock {
		p.rules().restrict(s, f, at)
	}
	p.dropCapabilities(s)
	if f.Seccomp {
		if err := p.filter(first).install(s, report); err != nil {
			return err
		}
	}
	p.run(s, e, first, s.Text(p.started(e)))
	return nil
}

// Join names the step that joins the control group, in errors.
const Join = "join the control group"

// Enter names the step that enters the working directory, in errors.
const Enter = "enter the workspace"

// Run names the step that runs the program, in errors.
const Run = "run"

func closeOnExec(s *stage.Program, fd int) {
	s.Call("keep descriptors", unix.SYS_FCNTL, uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
}

// firstStart gives the program a descriptor that no other can have afterwards, if it may
// start no other program, and returns its number.
func (p *Plan) firstStart(s *stage.Program, program uintptr) (first uintptr) {
	if !p.start {
		return program
	}
	first = uintptr(p.Profile.Limits.files()) - 1
	s.Call("keep the program", unix.SYS_DUP3, program, first, unix.O_CLOEXEC)
	p.Profile.Limits.Files = int(first) //nolint:gosec // small
	return first
}

func (p *Plan) dropCapabilities(s *stage.Program) {
	switch {
	case p.features.User || !p.Profile.isOpen() && !p.features.Privileged:
		dropCapabilities(s, nil)
	case p.Profile.isOpen():
		dropCapabilities(s, openKeeps)
	default:
		dropCapabilities(s, rootKeeps)
	}
}

func (p *Plan) filter(first uintptr) filter {
	of := p.Profile
	return filter{
		open: !p.seccomp, users: p.features.User && p.features.Bounded, notify: p.Notify, network: p.network || of.Net.Any,
		connect: p.connects(),
		apart:   p.features.Namespaces(), changes: p.view != sameView || of.Write.Any || len(of.Write.List) > 0,
		exec: !p.start, anyExec: of.Exec.Any, start: uint32(first), //nolint:gosec // small
	}
}

// started returns the path that is run; empty: a descriptor is.
func (p *Plan) started(e Entry) string {
	if p.start || e.Descriptor > 0 {
		return ""
	}
	return e.Path
}

// run makes the process the program, of which path is the address of the path. Its limit of descriptors
// is the last that is lowered.
func (p *Plan) run(s *stage.Program, e Entry, first, path uintptr) {
	if files := p.Profile.Limits.files(); !p.bare {
		limit(s, "descriptors", unix.RLIMIT_NOFILE, files, files)
	}
	switch {
	case p.start:
		s.Call(Run, unix.SYS_EXECVEAT, first, path, 0, 0, unix.AT_EMPTY_PATH)
		s.Arguments(2, 3)
	case e.Descriptor > 0:
		s.Call(Run, unix.SYS_EXECVEAT, uintptr(e.Descriptor), path, 0, 0, unix.AT_EMPTY_PATH)
		s.Arguments(2, 3)
	default:
		s.Call(Run, unix.SYS_EXECVE, path, 0, 0)
		s.Arguments(1, 2)
	}
}
