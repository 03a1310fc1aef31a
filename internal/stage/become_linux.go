//go:build linux && (amd64 || arm64)

package stage

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bounds of [Become].
const (
	maxList  = 4 << 20 // bytes of the list
	firstOwn = 128     // the first descriptor that the list opens
)

// Become carries out a list in this process, whose last step makes it a program with these
// arguments and this environment. It is for a process that was started to become the program where
// memory files may not be run, as in a sandbox. The goroutine has to be locked to its thread, and
// the process to end if Become returns. Descriptors from 3 on are not handed on.
//
// # Errors
//
// A [*Failure], if a step failed, and that of list.
func Become(args, env []string, list func(*Program) error) error {
	memory, err := unix.Mmap(-1, 0, maxList, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	envp, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return err
	}
	p := NewProgram(firstOwn)
	p.base = uintptr(unsafe.Pointer(&memory[0]))
	if err := list(p); err != nil {
		return err
	}
	content := p.memory(0)
	if len(content) > len(memory) {
		return unix.E2BIG
	}
	copy(memory, content)
	for at, list := range map[slot]unsafe.Pointer{p.argv: unsafe.Pointer(&argv[0]), p.envp: unsafe.Pointer(&envp[0])} {
		if at.step >= 0 {
			p.steps[at.step].Arguments[at.argument] = uint64(uintptr(list))
		}
	}
	if err := fillDescriptors(); err != nil {
		return err
	}
	err = p.carryOut()
	runtime.KeepAlive(argv)
	runtime.KeepAlive(envp)
	return err
}

// fillDescriptors makes firstOwn the lowest descriptor that is free.
func fillDescriptors() error {
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
		switch {
		case err != nil:
			return err
		case fd >= firstOwn:
			return unix.Close(fd)
		}
	}
}

// carryOut makes the system calls.
func (p *Program) carryOut() error {
	for i := 0; i < len(p.steps); i++ {
		s := &p.steps[i]
		a := &s.Arguments
		_, _, errno := syscall.RawSyscall6(uintptr(s.Number),
			uintptr(a[0]), uintptr(a[1]), uintptr(a[2]), uintptr(a[3]), uintptr(a[4]), uintptr(a[5]))
		switch {
		case errno == 0:
		case s.Else == 0:
			return &Failure{Step: i, What: p.names[i], Errno: errno}
		default:
			i += int(s.Else) - 1 //nolint:gosec // small
		}
	}
	return nil
}
