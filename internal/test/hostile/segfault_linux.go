package hostile

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// segfault ends the process as it ends one that was written in C. It is a real
// fault, as the first process of a PID namespace is immune to signals of its own.
func segfault() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	forbidden, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	var whatever [4]uint64 // a struct sigaction: SIG_DFL, and no flags
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&whatever)), 0, 8, 0, 0)
	forbidden[0] = 1
}
