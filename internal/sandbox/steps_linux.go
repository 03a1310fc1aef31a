//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Arguments of system calls that are negative, or the like of it.
const (
	atCWD          = ^uintptr(99) // AT_FDCWD, -100
	lastDescriptor = 0xffffffff
)

// open opens a path, and returns the number that the descriptor has until the stage closes it
// or keeps it.
func open(p *stage.Program, what, path string, flags uintptr) (fd uintptr) {
	p.Call(what, unix.SYS_OPENAT, atCWD, p.Text(path), flags|unix.O_CLOEXEC, 0o600)
	return uintptr(p.Free())
}

// write writes to a file what it takes in one write.
func write(p *stage.Program, what, path, content string) {
	fd := open(p, what, path, unix.O_WRONLY)
	p.Call(what, unix.SYS_WRITE, fd, p.Text(content), uintptr(len(content)))
	p.Call(what, unix.SYS_CLOSE, fd)
}

// mapUser gives the process of a new user namespace its user and group back, under their own
// numbers and without any others (user_namespaces(7)).
func mapUser(p *stage.Program, f Features) {
	if !f.User {
		return
	}
	const what = "map the user"
	write(p, what, "/proc/self/setgroups", "deny")
	write(p, what, "/proc/self/uid_map", fmt.Sprintf("%d %[1]d 1", os.Getuid()))
	write(p, what, "/proc/self/gid_map", fmt.Sprintf("%d %[1]d 1", os.Getgid()))
}

// boundNamespaces bounds what the process of a new user namespace can have of what the kernel counts by
// user (namespaces(7), inotify(7)), so that it uses up nothing of the user's own. It has no right to raise
// that again. Chromium makes one user namespace for itself, and others for its processes in it.
func boundNamespaces(p *stage.Program, f Features) {
	if !f.Bounded {
		return
	}
	const what, setting = "bound its namespaces", "/proc/sys/user/max_"
	write(p, what, setting+"user_namespaces", "32")
	for _, kind := range []string{"pid", "net", "mnt", "ipc", "uts", "cgroup", "time"} {
		write(p, what, setting+kind+"_namespaces", "256")
	}
	for _, kind := range []string{"inotify_instances", "fanotify_groups"} {
		if exists(setting + kind) {
			write(p, what, setting+kind, "32")
		}
	}
}

// raiseLoopback makes 127.0.0.1 and ::1 reachable in a new network namespace.
func raiseLoopback(p *stage.Program) {
	const what = "raise loopback"
	fd := uintptr(p.Free())
	p.Call(what, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	request := make([]byte, 40) // struct ifreq
	copy(request, "lo")
	request[unix.IFNAMSIZ] = unix.IFF_UP
	p.Call(what, unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, p.Bytes(request))
	p.Call(what, unix.SYS_CLOSE, fd)
}

// listen makes a TCP listener on loopback, and hands it to the host: what is accepted from it
// comes from the network namespace that it was made in.
func listen(p *stage.Program, report int, port uint16) {
	const what = "listen for the host"
	fd := uintptr(p.Free())
	address := p.Struct(uint16(unix.AF_INET), port>>8|port<<8, []byte{127, 0, 0, 1}, uint64(0))
	p.Call(what, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	p.Call(what, unix.SYS_BIND, fd, address, 16)
	p.Call(what, unix.SYS_LISTEN, fd, 128)
	p.Send(report, p.Free())
	p.Call(what, unix.SYS_CLOSE, fd)
}
