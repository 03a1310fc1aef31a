package sandbox

import "golang.org/x/sys/unix"

const machine = unix.AUDIT_ARCH_X86_64

// abis: calls of x32 have a bit that is cleared first, and a number of their own for ioctl.
var abis = []abi{
	{unix.AUDIT_ARCH_X86_64, []uint32{unix.SYS_FCNTL}, []uint32{unix.SYS_IOCTL, 514},
		unix.SYS_SECCOMP, unix.SYS_CLONE, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_SETRLIMIT, unix.SYS_PRLIMIT64},
	{unix.AUDIT_ARCH_I386, []uint32{55, 221}, []uint32{54}, 354, 120, 310, 346, 75, 340},
}

var allowedHere = []uint32{
	unix.SYS_ACCESS, unix.SYS_ALARM, unix.SYS_ARCH_PRCTL, unix.SYS_CREAT, unix.SYS_DUP2, unix.SYS_EPOLL_CREATE,
	unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_FORK, unix.SYS_GETDENTS, unix.SYS_GETPGRP, unix.SYS_INOTIFY_INIT,
	unix.SYS_LINK, unix.SYS_LSTAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_OPEN, unix.SYS_PAUSE, unix.SYS_PIPE,
	unix.SYS_POLL, unix.SYS_READLINK, unix.SYS_RENAME, unix.SYS_RMDIR, unix.SYS_SELECT, unix.SYS_SIGNALFD,
	unix.SYS_STAT, unix.SYS_SYMLINK, unix.SYS_TIME, unix.SYS_UNLINK, unix.SYS_UPROBE, unix.SYS_URETPROBE,
	unix.SYS_VFORK,
}

var kernelCallsHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}

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
