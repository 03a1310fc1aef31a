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

// looksHere are old forms of calls.
var looksHere = map[uint32][]look{
	unix.SYS_OPEN:      {{dir: noArgument, path: 0, flags: 1, as: (*observer).opens}},
	unix.SYS_CREAT:     {{dir: noArgument, path: 0, flags: noArgument, as: (*observer).opens}},
	unix.SYS_MKDIR:     {{dir: noArgument, path: 0, as: (*observer).makes}},
	unix.SYS_MKNOD:     {{dir: noArgument, path: 0, as: (*observer).makes}},
	unix.SYS_SYMLINK:   {{dir: noArgument, path: 1, as: (*observer).makes}},
	unix.SYS_LINK:      {{dir: noArgument, path: 0, as: (*observer).reads}, {dir: noArgument, path: 1, as: (*observer).makes}},
	unix.SYS_UNLINK:    {{dir: noArgument, path: 0, as: (*observer).removes}},
	unix.SYS_RMDIR:     {{dir: noArgument, path: 0, as: (*observer).removes}},
	unix.SYS_RENAME:    {{dir: noArgument, path: 0, as: (*observer).removes}, {dir: noArgument, path: 1, as: (*observer).replaces}},
	unix.SYS_CHMOD:     {{dir: noArgument, path: 0, as: (*observer).writes}},
	unix.SYS_CHOWN:     {{dir: noArgument, path: 0, as: (*observer).writes}},
	unix.SYS_LCHOWN:    {{dir: noArgument, path: 0, as: (*observer).writes}},
	unix.SYS_UTIME:     {{dir: noArgument, path: 0, as: (*observer).writes}},
	unix.SYS_UTIMES:    {{dir: noArgument, path: 0, as: (*observer).writes}},
	unix.SYS_FUTIMESAT: {{dir: 0, path: 1, as: (*observer).writes}},
}
