//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Trace returns a plan that confines nothing and has the host told what the process and all that
// it starts use, for [Observe].
//
// # Errors
//
// A plain error if this system cannot tell it.
func Trace(of Profile, f Features) (*Plan, error) {
	switch {
	case !f.Stage:
		return nil, errors.New("what a plugin uses cannot be seen: programs in memory cannot be run here (memfd_create)")
	case !f.Notify:
		return nil, errors.New("what a plugin uses cannot be seen: this system has no notifications of system calls for its user (seccomp_unotify(2), Linux 5.0)")
	}
	return &Plan{Profile: of, bare: true, Notify: true, Traced: true}, nil
}

// Always returns what the process may read and write whatever else it is granted, and what C
// libraries and runtimes of languages look at if it is there, and do without.
func (of Profile) Always() (read, write []string) {
	named := func(list []string) []string {
		return slices.DeleteFunc(list, func(path string) bool { return path == "" })
	}
	write = slices.Concat(devices, []string{of.Sockets, shared, "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/pts", "/dev/ptmx"})
	read = slices.Concat(write, system, of.Read.List, []string{
		of.Program, of.Script, "/sys/kernel/mm", "/sys/fs/cgroup", "/sys/devices/system", "/etc/machine-id", "/etc/inputrc", "/etc/locale.alias",
		"/run/nscd", "/var/run/nscd", "/run/systemd/userdb", "/run/systemd/resolve",
	})
	return named(read), named(write)
}

// trace lets all calls pass, those that are looked at once the host has, except for the start of
// the program: its text is at that address.
func trace(start uintptr) []bpf.Instruction {
	a := &assembler{}
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataMachine, Size: 4})
	a.unless(allowed, machine)
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataNumber, Size: 4})
	a.call(unix.SYS_IO_URING_SETUP, func() { a.ret(refusal(unix.ENOSYS)) }) // what it opens is not seen
	for number, argument := range map[uint32]int{unix.SYS_EXECVE: 0, unix.SYS_EXECVEAT: 1} {
		a.call(number, func() {
			a.load(argument)
			a.unless(unix.SECCOMP_RET_USER_NOTIF, uint32(start)) //nolint:gosec // the stage is below 4 GiB
			a.ret(allowed)
		})
	}
	for _, number := range slices.Sorted(maps.Keys(looks())) {
		a.call(number, func() { a.ret(unix.SECCOMP_RET_USER_NOTIF) })
	}
	a.ret(allowed)
	return a.code
}

// uninterrupted is a flag of filters with which a call is not begun again because of a signal
// while the host looks at it, if the kernel has it (Linux 5.19).
func uninterrupted() uintptr {
	if listens(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
		return unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	return 0
}

func installTrace(s *stage.Program, report int, start uintptr) error {
	s.Call("give up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	code, err := encode(trace(start))
	if err == nil {
		install(s, report, code, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|uninterrupted())
	}
	return err
}
