//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
)

// refusalsPerSecond bounds what the host does for a process that tries what it may not again
// and again: it waits for its answers.
const refusalsPerSecond = 1000

var aLongTimeAgo = time.Unix(1, 0)

// notification is struct seccomp_notif, and response struct seccomp_notif_resp (seccomp_unotify(2)).
type notification struct {
	ID        uint64
	PID       uint32
	Flags     uint32
	Number    int32
	Machine   uint32
	Pointer   uint64
	Arguments [6]uint64
}

type response struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

// Refuse answers the system calls that the filter of a process refuses, which arrive on f, until
// the process and all that it started have ended, or ctx has; it closes f. Refused is told what
// each was.
func Refuse(ctx context.Context, f *os.File, refused func(what string)) {
	pace := rate.NewLimiter(refusalsPerSecond, refusalsPerSecond)
	serve(ctx, f, func(n notification, _ func() bool) response {
		_ = pace.Wait(ctx) // its end ends the next wait for a call
		what, errno := explain(n)
		refused(what)
		return response{ID: n.ID, Error: -int32(errno)} //nolint:gosec // small
	})
}

// serve answers calls. Valid reports whether the process still waits for the answer.
func serve(ctx context.Context, f *os.File, answer func(n notification, valid func() bool) response) {
	defer func() { _ = f.Close() }()
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(aLongTimeAgo) })()
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	control := func(request uintptr, argument unsafe.Pointer) (done bool) {
		err := raw.Control(func(fd uintptr) {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(argument))
			done = errno == 0
		})
		return done && err == nil
	}
	for {
		n, ok := receive(raw)
		if !ok {
			return
		}
		a := answer(n, func() bool { return control(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.ID)) })
		_ = control(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // one that is gone needs none
	}
}

// receive waits for the next call; false: there will be none.
func receive(raw syscall.RawConn) (n notification, ok bool) {
	err := raw.Read(func(fd uintptr) bool {
		for {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // small
			if _, err := unix.Poll(poll, 0); err != nil && !errors.Is(err, unix.EINTR) {
				return true
			}
			switch {
			case poll[0].Revents&unix.POLLIN != 0:
			case poll[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0:
				return true
			default:
				return false
			}
			n = notification{}
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
			switch errno {
			case 0:
				ok = true
				return true
			case unix.ENOENT, unix.EINTR: // who called has ended
			default:
				return true
			}
		}
	})
	return n, ok && err == nil
}

// explain names a refused call, and returns the error that it gets.
func explain(n notification) (what string, errno unix.Errno) {
	number := uint32(n.Number) //nolint:gosec // above 0
	if number == unix.SYS_SOCKET || number == unix.SYS_SOCKETPAIR {
		family := int(uint32(n.Arguments[0])) //nolint:gosec // an int
		name, ok := families[family]
		if !ok {
			name = "family " + strconv.Itoa(family)
		}
		return "socket: " + name, unix.EACCES
	}
	if name, ok := callNames[number]; ok {
		errno = unix.EPERM
		if number == unix.SYS_EXECVE || number == unix.SYS_EXECVEAT || number == unix.SYS_CONNECT {
			errno = unix.EACCES
		}
		return name, errno
	}
	return "system call " + strconv.Itoa(int(number)), unix.EPERM
}

var families = map[int]string{
	unix.AF_UNIX: "Unix datagrams", unix.AF_INET: "network", unix.AF_INET6: "network", unix.AF_NETLINK: "netlink",
	unix.AF_PACKET: "packets", unix.AF_VSOCK: "vsock", unix.AF_ALG: "kernel cryptography", unix.AF_BLUETOOTH: "Bluetooth",
}

// callNames are those of the calls that a person may want to know of.
var callNames = map[uint32]string{
	unix.SYS_EXECVE: "exec", unix.SYS_EXECVEAT: "exec", unix.SYS_CONNECT: "connect", unix.SYS_PTRACE: "ptrace",
	unix.SYS_PROCESS_VM_READV: "process_vm_readv", unix.SYS_PROCESS_VM_WRITEV: "process_vm_writev", unix.SYS_KEYCTL: "keyctl",
	unix.SYS_ADD_KEY: "add_key", unix.SYS_REQUEST_KEY: "request_key", unix.SYS_BPF: "bpf", unix.SYS_USERFAULTFD: "userfaultfd",
	unix.SYS_PERF_EVENT_OPEN: "perf_event_open", unix.SYS_MOUNT: "mount", unix.SYS_UMOUNT2: "umount", unix.SYS_PIVOT_ROOT: "pivot_root",
	unix.SYS_CHROOT: "chroot", unix.SYS_UNSHARE: "unshare", unix.SYS_SETNS: "setns", unix.SYS_CLONE: "namespaces",
	unix.SYS_KEXEC_LOAD: "kexec", unix.SYS_INIT_MODULE: "kernel modules", unix.SYS_FINIT_MODULE: "kernel modules",
	unix.SYS_REBOOT: "reboot", unix.SYS_SETTIMEOFDAY: "setting the clock", unix.SYS_CLOCK_SETTIME: "setting the clock",
	unix.SYS_SETHOSTNAME: "sethostname", unix.SYS_PIDFD_GETFD: "pidfd_getfd", unix.SYS_OPEN_BY_HANDLE_AT: "open_by_handle_at",
}
