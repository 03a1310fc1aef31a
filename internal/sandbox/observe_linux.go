//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Observe lets the calls of a traced process pass, which arrive on f, until the process and all
// that it started have ended, or ctx has; it closes f. Used is told what they are about to use,
// and not of what does not exist or its user may not use. It is nothing to rely on against a
// process that hides what it does: one thread can change what another is seen to pass.
func Observe(ctx context.Context, f *os.File, used func(Use)) {
	o := &observer{own: map[string]bool{}}
	serve(ctx, f, func(n notification, valid func() bool) response {
		o.notification, o.uses = n, nil
		for _, l := range looks()[uint32(n.Number)] { //nolint:gosec // above 0
			if !l.as(o, l) {
				break
			}
		}
		if valid() { // else it has ended, and its number may be another's
			for _, u := range o.uses {
				used(u)
			}
		}
		return response{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	})
}

// look is how some arguments of a system call are looked at.
type look struct {
	dir, path int // arguments: a directory's descriptor, or noArgument, and a path below it
	flags     int // an argument, or noArgument
	as        func(*observer, look) (next bool)
}

const noArgument = -1

// looks are the calls that are looked at.
var looks = sync.OnceValue(func() map[uint32][]look {
	all := map[uint32][]look{
		unix.SYS_OPENAT:    {{dir: 0, path: 1, flags: 2, as: (*observer).opens}},
		unix.SYS_OPENAT2:   {{dir: 0, path: 1, flags: 2, as: (*observer).opensAsSaid}},
		unix.SYS_MKDIRAT:   {{dir: 0, path: 1, as: (*observer).makes}},
		unix.SYS_MKNODAT:   {{dir: 0, path: 1, as: (*observer).makes}},
		unix.SYS_SYMLINKAT: {{dir: 1, path: 2, as: (*observer).makes}},
		unix.SYS_LINKAT:    {{dir: 0, path: 1, as: (*observer).reads}, {dir: 2, path: 3, as: (*observer).makes}},
		unix.SYS_UNLINKAT:  {{dir: 0, path: 1, as: (*observer).removes}},
		unix.SYS_RENAMEAT2: {{dir: 0, path: 1, as: (*observer).removes}, {dir: 2, path: 3, as: (*observer).replaces}},
		unix.SYS_TRUNCATE:  {{dir: noArgument, path: 0, as: (*observer).writes}},
		unix.SYS_FCHMODAT:  {{dir: 0, path: 1, as: (*observer).writes}},
		unix.SYS_FCHMODAT2: {{dir: 0, path: 1, as: (*observer).writes}},
		unix.SYS_FCHOWNAT:  {{dir: 0, path: 1, as: (*observer).writes}},
		unix.SYS_UTIMENSAT: {{dir: 0, path: 1, as: (*observer).writes}},
		unix.SYS_EXECVE:    {{dir: noArgument, path: 0, flags: noArgument, as: (*observer).runs}},
		unix.SYS_EXECVEAT:  {{dir: 0, path: 1, flags: 4, as: (*observer).runs}},
		unix.SYS_CONNECT:   {{path: 1, as: (*observer).connects}},
		unix.SYS_SENDTO:    {{path: 4, as: (*observer).connects}},
		unix.SYS_BIND:      {{path: 1, as: (*observer).binds}},
	}
	all[unix.SYS_RENAMEAT] = all[unix.SYS_RENAMEAT2]
	for number, l := range looksHere {
		all[number] = l
	}
	return all
})

// observer looks at what a traced process and all that it starts do.
type observer struct {
	notification
	uses []Use
	own  map[string]bool // sockets, as the links of descriptors name them, that they have given addresses
}

func (o *observer) add(kind UseKind, at place) bool {
	o.uses = append(o.uses, Use{Kind: kind, Path: at.path, Real: at.real})
	return true
}

// place is what a path of the process names.
type place struct {
	path, real string
	info       os.FileInfo // nil: there is nothing
}

func (p place) isDir() bool { return p.info != nil && p.info.IsDir() }

// may reports whether its user may use it so.
func (p place) may(mode uint32) bool { return p.info != nil && unix.Access(p.real, mode) == nil }

func (o *observer) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", o.PID, name) }

// descriptor returns what an argument leads to that is a descriptor.
func (o *observer) descriptor(argument int) string {
	target, _ := os.Readlink(o.proc("fd/" + strconv.Itoa(int(int32(o.Arguments[argument]))))) //nolint:gosec // an int
	return target
}

// memory reads memory of the process, and less than was asked for where it ends.
func (o *observer) memory(argument, size int) []byte {
	fd, err := unix.Open(o.proc("mem"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		o.uses = append(o.uses, Use{Kind: Unseen})
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, size)
	n, err := unix.Pread(fd, b, int64(o.Arguments[argument])) //nolint:gosec // an address
	if err != nil {
		return nil // as the call will find
	}
	return b[:n]
}

// at returns what the path of a call names; false: nothing that counts. A link at its end is
// followed or, as an entry of a directory, is not.
func (o *observer) at(l look, follow bool) (p place, ok bool) {
	text, _, ended := bytes.Cut(o.memory(l.path, unix.PathMax), []byte{0})
	if !ended || len(text) == 0 {
		return p, false
	}
	return o.named(l, string(text), follow)
}

func (o *observer) named(l look, path string, follow bool) (p place, ok bool) {
	if !filepath.IsAbs(path) {
		var dir string
		if l.dir == noArgument || int32(o.Arguments[l.dir]) == unix.AT_FDCWD { //nolint:gosec // an int
			dir, _ = os.Readlink(o.proc("cwd"))
		} else {
			dir = o.descriptor(l.dir)
		}
		if !filepath.IsAbs(dir) {
			return p, false
		}
		path = dir + "/" + path // and not cleaned, as .. after a link is another place
	}
	for self, under := range map[string]string{"/proc/self/": "", "/proc/thread-self/": "", "/dev/fd/": "fd/"} {
		if rest, found := strings.CutPrefix(path, self); found {
			path = o.proc(under + rest)
		}
	}
	p.path = filepath.Clean(path)
	var err error
	if follow {
		p.real, err = filepath.EvalSymlinks(path)
	}
	if !follow || err != nil {
		dir, bad := filepath.EvalSymlinks(filepath.Dir(strings.TrimRight(path, "/")))
		if bad != nil {
			return p, false
		}
		p.real = filepath.Join(dir, filepath.Base(path))
	}
	if within("/proc", p.path) { // a descriptor, or what every process has
		p.path = p.real
	}
	p.info, _ = os.Lstat(p.real)
	return p, !within("/proc", p.real)
}

func (o *observer) opens(l look) bool {
	flags := uint64(unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC) // creat(2)
	if l.flags != noArgument {
		flags = o.Arguments[l.flags]
	}
	return o.open(l, flags)
}

// opensAsSaid is opens with the flags in memory (openat2(2)).
func (o *observer) opensAsSaid(l look) bool {
	how := o.memory(l.flags, 8)
	return len(how) == 8 && o.open(l, binary.NativeEndian.Uint64(how))
}

func (o *observer) open(l look, flags uint64) bool {
	const accessMode, temporary = unix.O_ACCMODE, unix.O_TMPFILE
	p, ok := o.at(l, true)
	writes := flags&accessMode != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	switch {
	case !ok:
	case flags&unix.O_PATH != 0:
		if p.info != nil && !p.isDir() {
			o.add(Reads, p)
		}
	case flags&temporary == temporary:
		o.add(Makes, place{path: filepath.Join(p.path, "temporary"), real: filepath.Join(p.real, "temporary")})
	case p.info == nil:
		if flags&unix.O_CREAT != 0 {
			o.add(Makes, p)
		}
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL: // fails
	case writes && !p.isDir() && p.may(unix.W_OK):
		o.add(Writes, p)
	case !writes && p.may(unix.R_OK):
		o.add(Reads, p)
	}
	return true
}

func (o *observer) reads(l look) bool {
	p, ok := o.at(l, false)
	return ok && p.may(unix.R_OK) && o.add(Reads, p)
}

func (o *observer) writes(l look) bool {
	p, ok := o.at(l, true)
	return ok && p.may(unix.W_OK) && o.add(Writes, p)
}

func (o *observer) makes(l look) bool {
	p, ok := o.at(l, false)
	return ok && p.info == nil && o.add(Makes, p)
}

func (o *observer) removes(l look) bool {
	p, ok := o.at(l, false)
	return ok && p.info != nil && o.add(Removes, p)
}

func (o *observer) replaces(l look) bool {
	p, ok := o.at(l, false)
	if ok && p.info == nil {
		return o.add(Makes, p)
	}
	return ok && o.add(Removes, p)
}

func (o *observer) runs(l look) bool {
	text, _, _ := bytes.Cut(o.memory(l.path, unix.PathMax), []byte{0})
	path := string(text)
	if path == "" && l.flags != noArgument && o.Arguments[l.flags]&unix.AT_EMPTY_PATH != 0 {
		if path = o.descriptor(l.dir); strings.HasPrefix(path, "/memfd:") {
			return o.add(Runs, place{})
		}
	}
	if path == "" {
		return false
	}
	if target, _ := os.Readlink(o.proc("exe")); path == "/proc/self/exe" && strings.HasPrefix(target, "/memfd:") {
		return o.add(Runs, place{})
	}
	p, ok := o.named(l, path, true)
	return ok && p.info != nil && p.info.Mode().IsRegular() && p.may(unix.X_OK) && o.add(Runs, p)
}

// address reads the address of a socket (sockaddr(3type)), whose length is the next argument.
func (o *observer) address(l look) (a netip.AddrPort, unixPath string, ok bool) {
	size := min(o.Arguments[l.path+1], unix.SizeofSockaddrUnix)
	if o.Arguments[l.path] == 0 || size < 2 { // none, as of a socket that is connected
		return a, "", false
	}
	b := o.memory(l.path, int(size)) //nolint:gosec // small
	if len(b) < int(size) {          //nolint:gosec // small
		return a, "", false
	}
	family, b := binary.NativeEndian.Uint16(b), append(b, 0, 0)
	port := binary.BigEndian.Uint16(b[2:])
	switch {
	case family == unix.AF_INET && size >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), "", true
	case family == unix.AF_INET6 && size >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port), "", true
	case family == unix.AF_UNIX && b[2] == 0: // abstract, and without a name one that the kernel chooses
		return a, "@" + string(b[min(3, size):size]), true
	case family == unix.AF_UNIX:
		text, _, _ := bytes.Cut(b[2:], []byte{0})
		return a, string(text), true
	}
	return a, "", false
}

// binds notes a socket of their own: what is connected to it stays among them.
func (o *observer) binds(l look) bool {
	_, path, ok := o.address(l)
	switch {
	case !ok:
	case path == "" || strings.HasPrefix(path, "@"):
		o.own[o.descriptor(0)] = true
	default:
		if p, ok := o.named(look{dir: noArgument}, path, false); ok && p.info == nil {
			o.add(Makes, p)
		}
	}
	return true
}

func (o *observer) connects(l look) bool {
	a, path, ok := o.address(l)
	switch {
	case !ok:
	case strings.HasPrefix(path, "@"):
		if o.isForeign(o.bound("unix", 6, func(f []string) bool { return f[len(f)-1] == path })) {
			o.uses = append(o.uses, Use{Kind: Connects, Name: path})
		}
	case path != "":
		if p, ok := o.named(look{dir: noArgument}, path, true); ok && p.may(unix.W_OK) {
			o.add(Reads, p)
		}
	case !a.Addr().IsLoopback() && !a.Addr().IsUnspecified(), o.isForeign(o.waiting("tcp", a.Port())):
		o.uses = append(o.uses, Use{Kind: Connects, Address: a})
	case o.isForeign(o.waiting("udp", a.Port())):
		o.uses = append(o.uses, Use{Kind: Connects, Name: "udp " + a.String()})
	}
	return true
}

// isForeign reports whether there are sockets, and none of them is their own.
func (o *observer) isForeign(sockets []string) bool {
	return len(sockets) > 0 && !slices.ContainsFunc(sockets, func(s string) bool { return o.own[s] })
}

// waiting returns the sockets of this machine that wait at a port.
func (o *observer) waiting(protocol string, port uint16) (sockets []string) {
	end := fmt.Sprintf(":%04X", port)
	for _, table := range []string{protocol, protocol + "6"} {
		const listening, unconnected = "0A", "07"
		sockets = append(sockets, o.bound(table, 9, func(f []string) bool {
			return strings.HasSuffix(f[1], end) && (f[3] == listening || f[3] == unconnected)
		})...)
	}
	return sockets
}

// bound returns the sockets that fit in a table of the process's network, in which their numbers
// have a column (proc_pid_net(5)).
func (o *observer) bound(table string, column int, fits func(fields []string) bool) (sockets []string) {
	text, _ := os.ReadFile(o.proc("net/" + table))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > column && fits(f) {
			sockets = append(sockets, "socket:["+f[column]+"]")
		}
	}
	return sockets
}
