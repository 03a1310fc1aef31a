//go:build linux && (amd64 || arm64)

package sandbox

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Requests of ioctl by which attributes and the layout of files are read. All others of file systems
// can change what is open for reading only, and there is no list of those.
var readingRequests = []uint32{unix.FS_IOC_GETFLAGS, 0x801c581f, 0x80087601, 0xc020660b} // FSGETXATTR, GETVERSION, FIEMAP

// otherRequests are the kinds of requests that no file system has: those of terminals and all descriptors,
// of sockets, and of descriptors of processes.
var otherRequests = []uint32{0x5400, 0x8900, 0xff00}

// newestFcntl is the last command of fcntl that was looked at, F_SET_FILE_RW_HINT (Linux 6.18). The next
// ones give leases on directories.
const newestFcntl = 1038

// abi has the numbers of the calls by which every plugin can do harm, in one of the ways in which programs
// of a machine make calls.
type abi struct {
	machine                       uint32
	fcntl, ioctl                  []uint32
	seccomp, clone, unshare, join uint32
	setrlimit, prlimit            uint32
}

// addCommon is the filter of a plugin that may do what its user may: all calls pass but those that no
// plugin makes.
func (f filter) addCommon(a *assembler, of abi) {
	const x32 = 1 << 30
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataNumber, Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: ^uint32(x32)})
	for _, number := range of.fcntl {
		a.call(number, func() { a.fcntl() })
	}
	for _, number := range of.ioctl {
		a.call(number, func() { a.ioctl(true) })
	}
	a.call(of.seccomp, func() { a.seccomp() })
	a.call(of.setrlimit, func() { a.brand(0) })
	a.call(of.prlimit, func() { a.brand(1) })
	kept := uint32(0)
	if !f.users {
		kept |= unix.CLONE_NEWUSER
		a.call(of.join, func() { a.ret(a.refused) })
	}
	if !f.apart {
		kept |= unix.CLONE_PARENT
	}
	if kept != 0 {
		a.call(unix.SYS_CLONE3, func() { a.ret(refusal(unix.ENOSYS)) }) // which has one number everywhere
		for _, number := range []uint32{of.clone, of.unshare} {
			a.call(number, func() { a.flags(kept) })
		}
	}
	a.ret(allowed)
}

// flags refuses a call whose first argument has one of these.
func (a *assembler) flags(refused uint32) {
	a.load(0)
	a.when(bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: refused}, func() { a.ret(a.refused) })
	a.ret(allowed)
}

// fcntl refuses leases, for which whoever opens the file waits, and notices by signals.
func (a *assembler) fcntl() {
	a.load(1)
	a.among(refusal(unix.EPERM), unix.F_SETLEASE, unix.F_NOTIFY)
	a.when(bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: newestFcntl}, func() { a.ret(refusal(unix.EINVAL)) })
	a.ret(allowed)
}

// ioctl refuses to type into a terminal, and to change files by descriptors for reading.
func (a *assembler) ioctl(changes bool) {
	a.load(1)
	a.among(refusal(unix.EPERM), unix.TIOCSTI, unix.TIOCLINUX)
	if !changes {
		a.among(allowed, readingRequests...)
		a.code = append(a.code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff00})
		a.unless(a.refused, otherRequests...)
	}
	a.ret(allowed)
}

// seccomp refuses filters that the process answers itself: one of them would come before the host's, and
// let pass what that refuses.
func (a *assembler) seccomp() {
	a.load(1)
	a.when(bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}, func() { a.ret(refusal(unix.EBUSY)) })
	a.ret(allowed)
}

// brand refuses to change the limit by which the host knows the processes of a run: one of them could take
// that of another run, and end with it. The call's nth argument is the limit, the next the address of its
// new value; 0 asks for the present one.
func (a *assembler) brand(n int) {
	a.load(n)
	a.when(bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.RLIMIT_LOCKS}, func() {
		for _, half := range []uint32{0, 4} {
			a.code = append(a.code, bpf.LoadAbsolute{Off: argument(n+1) + half, Size: 4})
			a.unless(refusal(unix.EPERM), 0)
		}
	})
	a.ret(allowed)
}
