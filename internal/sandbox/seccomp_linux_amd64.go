package sandbox

import "golang.org/x/sys/unix"

const (
	machine    = unix.AUDIT_ARCH_X86_64
	newestCall = unix.SYS_FILE_SETATTR // as of Linux 6.17; the x32 calls are above, too
)

var kernelCallsHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_CREATE_MODULE}

var absentHere []uint32

var attributeCallsHere = []uint32{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}
