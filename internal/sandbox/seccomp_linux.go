//go:build linux && (amd64 || arm64)

package sandbox

import (
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Offsets in struct seccomp_data (seccomp(2)).
const (
	dataNumber    = 0
	dataMachine   = 4
	dataArguments = 16
)

func argument(n int) uint32 { return uint32(dataArguments + 8*n) } //nolint:gosec // small

// kernelCalls change the system, reach into other processes, or have more of the kernel exposed
// than a tool needs.
var kernelCalls = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_USERFAULTFD,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_VHANGUP, unix.SYS_SYSLOG,
	unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MEMFD_SECRET,
}

// setXattr is FS_IOC_FSSETXATTR (ioctl_xfs_fsgetxattr(2)).
const setXattr = 0x401c5820

// sharedCalls reach memory that all processes of a user share, if there is no IPC namespace.
var sharedCalls = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// processCalls change how a process runs, by the argument that names it; 0 is the one that calls.
var processCalls = map[uint32]int{
	unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1, unix.SYS_PRLIMIT64: 0, unix.SYS_SCHED_SETAFFINITY: 0, unix.SYS_SCHED_SETSCHEDULER: 0,
	unix.SYS_SCHED_SETPARAM: 0, unix.SYS_SCHED_SETATTR: 0, unix.SYS_MIGRATE_PAGES: 0, unix.SYS_MOVE_PAGES: 0,
}

// attributeCalls change what Landlock does not look at: modes, owners, times and attributes.
var attributeCalls = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// absentCalls look as if the kernel did not have them, so that programs use what is older, whose
// arguments a filter can see.
var absentCalls = []uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

const cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// filter says what a seccomp filter refuses.
type filter struct {
	notify  bool // the host is told
	network bool // the network is the process's own, or it was granted
	connect bool // else no socket is connected
	exec    bool // else only execveat of the descriptor start
	anyExec bool // memory files can be run
	start   uint32
	apart   bool // other processes are out of reach
	changes bool // some files may be changed, or those that may not are out of reach
}

// answers of the filter.
type answer uint32

// assembler makes a filter of rules, each of which ends the filter or goes on.
type assembler struct {
	code    []bpf.Instruction
	refused answer
}

func (a *assembler) ret(v answer) { a.code = append(a.code, bpf.RetConstant{Val: uint32(v)}) }

// call applies then to one system call, which is loaded.
func (a *assembler) call(number uint32, then func()) {
	at := len(a.code)
	a.code = append(a.code, nil)
	then()
	skip := uint8(len(a.code) - at - 1) //nolint:gosec // few
	a.code[at] = bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: skip}
}

// load loads an argument, of which the lower half counts.
func (a *assembler) load(n int) { a.code = append(a.code, bpf.LoadAbsolute{Off: argument(n), Size: 4}) }

// unless ends with an answer, unless what is loaded is one of the values.
func (a *assembler) unless(v answer, values ...uint32) {
	for i, value := range values {
		a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(len(values) - i)}) //nolint:gosec // few
	}
	a.ret(v)
}

// refusal answers with an error.
func refusal(errno unix.Errno) answer { return answer(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

const allowed = answer(unix.SECCOMP_RET_ALLOW)

// assemble returns the filter.
func (f filter) assemble() []bpf.Instruction {
	a := &assembler{refused: refusal(unix.EPERM)}
	if f.notify {
		a.refused = answer(unix.SECCOMP_RET_USER_NOTIF)
	}
	absent := refusal(unix.ENOSYS)
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataMachine, Size: 4})
	a.unless(answer(unix.SECCOMP_RET_KILL_PROCESS), machine)
	a.code = append(a.code, bpf.LoadAbsolute{Off: dataNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newestCall, SkipTrue: 1}, bpf.RetConstant{Val: uint32(absent)})
	for _, number := range append(absentCalls, absentHere...) {
		a.call(number, func() { a.ret(absent) })
	}
	for _, number := range append(kernelCalls, kernelCallsHere...) {
		a.call(number, func() { a.ret(a.refused) })
	}
	f.addOthers(a)
	a.call(unix.SYS_PERSONALITY, func() {
		a.load(0)
		a.unless(a.refused, 0, ^uint32(0)) // which asks
		a.ret(allowed)
	})
	a.call(unix.SYS_CLONE, func() {
		a.load(0)
		a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: cloneNamespaces, SkipFalse: 1})
		a.ret(a.refused)
		a.ret(allowed)
	})
	a.call(unix.SYS_IOCTL, func() { // typing into a terminal
		a.load(1)
		a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1})
		a.ret(refusal(unix.EPERM))
		a.ret(allowed)
	})
	f.addSockets(a)
	f.addExec(a)
	a.ret(allowed)
	return a.code
}

// addOthers refuses what reaches other processes and their files if no namespace keeps them out
// of reach.
func (f filter) addOthers(a *assembler) {
	if !f.changes {
		a.call(unix.SYS_IOCTL, func() { // attributes as some file systems have them
			a.load(1)
			for _, request := range []uint32{unix.FS_IOC_SETFLAGS, setXattr} {
				a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: request, SkipFalse: 1})
				a.ret(a.refused)
			}
			a.code = append(a.code, bpf.LoadAbsolute{Off: dataNumber, Size: 4})
		})
		for _, number := range append(attributeCalls, attributeCallsHere...) {
			a.call(number, func() { a.ret(a.refused) })
		}
	}
	if f.apart {
		return
	}
	for _, number := range sharedCalls {
		a.call(number, func() { a.ret(a.refused) })
	}
	for _, number := range slices.Sorted(maps.Keys(processCalls)) {
		a.call(number, func() {
			a.load(processCalls[number])
			a.unless(a.refused, 0)
			a.ret(allowed)
		})
	}
}

// addSockets refuses sockets but those of the process's own: Unix streams, and what the network
// allows. A datagram would reach others' sockets without connecting.
func (f filter) addSockets(a *assembler) {
	types, local := []uint32{unix.SOCK_STREAM}, []uint32{unix.SOCK_STREAM}
	if f.network {
		types = append(types, unix.SOCK_DGRAM)
	}
	if f.network && f.connect {
		local = append(local, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET)
	}
	ofType := func(types ...uint32) {
		a.load(1)
		a.code = append(a.code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff})
		a.unless(a.refused, types...)
		a.ret(allowed)
	}
	a.call(unix.SYS_SOCKET, func() {
		a.load(0)
		families := []uint32{unix.AF_UNIX}
		if f.network {
			families = append(families, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
		}
		a.unless(a.refused, families...)
		if !f.network {
			ofType(unix.SOCK_STREAM)
			return
		}
		a.call(unix.AF_NETLINK, func() {
			a.load(2)
			a.unless(a.refused, unix.NETLINK_ROUTE)
			a.ret(allowed)
		})
		a.call(unix.AF_UNIX, func() { ofType(local...) })
		a.load(2) // MPTCP is TCP by another number
		a.unless(a.refused, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP)
		ofType(types...)
	})
	a.call(unix.SYS_SOCKETPAIR, func() { ofType(local...) })
	if !f.connect {
		a.call(unix.SYS_CONNECT, func() { a.ret(a.refused) })
	}
}

// addExec refuses to start programs. The one start that is allowed is of a descriptor whose
// number no other can ever have, as it is the limit of descriptors: after it, there is none.
func (f filter) addExec(a *assembler) {
	if !f.anyExec {
		a.call(unix.SYS_MEMFD_CREATE, func() {
			a.load(1)
			a.code = append(a.code, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MFD_NOEXEC_SEAL, SkipTrue: 1})
			a.ret(refusal(unix.ENOSYS))
			a.ret(allowed)
		})
	}
	if f.exec {
		return
	}
	a.call(unix.SYS_EXECVE, func() { a.ret(a.refused) })
	a.call(unix.SYS_EXECVEAT, func() {
		a.load(0)
		a.unless(a.refused, f.start)
		a.load(4)
		a.unless(a.refused, unix.AT_EMPTY_PATH)
		a.ret(allowed)
	})
}

// install adds the step that applies the filter, and hands its listener to the host.
func (f filter) install(p *stage.Program, report int) error {
	flags := uintptr(0)
	if f.notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	return install(p, report, f.assemble(), flags)
}

// install applies a filter and, with a flag for it, hands its listener to the host.
func install(p *stage.Program, report int, filter []bpf.Instruction, flags uintptr) error {
	code, err := bpf.Assemble(filter)
	if err != nil {
		return err
	}
	raw := make([]any, 0, len(code))
	for _, c := range code {
		raw = append(raw, c.Op, c.Jt, c.Jf, c.K)
	}
	program := p.Struct(uint16(len(code)), uint16(0), uint32(0), uint64(p.Struct(raw...))) //nolint:gosec // few
	const what = "filter its system calls"
	listener := p.Free()
	p.Call(what, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, program)
	if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0 {
		p.Send(report, listener)
		p.Call(what, unix.SYS_CLOSE, uintptr(listener))
	}
	return nil
}
