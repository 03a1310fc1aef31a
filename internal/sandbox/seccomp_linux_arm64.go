package sandbox

import "golang.org/x/sys/unix"

const machine = unix.AUDIT_ARCH_AARCH64

var abis = []abi{
	{unix.AUDIT_ARCH_AARCH64, []uint32{unix.SYS_FCNTL}, []uint32{unix.SYS_IOCTL},
		unix.SYS_SECCOMP, unix.SYS_CLONE, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_SETRLIMIT, unix.SYS_PRLIMIT64},
	{unix.AUDIT_ARCH_ARM, []uint32{55, 221}, []uint32{54}, 383, 120, 337, 375, 75, 369},
}

var allowedHere, kernelCallsHere, attributeCallsHere []uint32

// looksHere: there are no old forms of calls.
var looksHere map[uint32][]look
