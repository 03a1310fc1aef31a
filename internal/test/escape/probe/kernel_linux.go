package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// kernel are system calls that plugins have no use for. What would change the machine is
// called with arguments that cannot be right.
func kernel() map[string]func(*escape.World) escape.Answer {
	one := func(show []unix.Errno, number uintptr, args ...any) func(*escape.World) escape.Answer {
		return func(*escape.World) escape.Answer {
			var c child
			c.do(number, args...)
			return reached(c.run(), show...)
		}
	}
	is := func(errno ...unix.Errno) []unix.Errno { return errno }
	const none = "/nonexistent/probe"
	return map[string]func(*escape.World) escape.Answer{
		"bpf": func(*escape.World) escape.Answer {
			const mapCreate, array = 0, 2
			attr := make([]uint32, 32)
			attr[0], attr[1], attr[2], attr[3] = array, 4, 4, 1
			var c child
			c.do(unix.SYS_BPF, mapCreate, unsafe.Pointer(&attr[0]), 72)
			return outcome(c.run())
		},
		"perf":        func(*escape.World) escape.Answer { return perf(0) },
		"userfaultfd": one(nil, unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1),
		"fanotify":    one(nil, unix.SYS_FANOTIFY_INIT, 0x200, unix.O_RDONLY),
		"aio":         one(nil, unix.SYS_IO_SETUP, 1, make([]byte, 8)),
		"lease": inScratch(func(w *escape.World, dir string) escape.Answer {
			path := filepath.Join(w.Workspace, "inside")
			if unix.Access(path, unix.R_OK) != nil {
				path = dir + "/file"
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					return outcome(err)
				}
			}
			return outcome(lease(path))
		}),
		"lease-system": func(*escape.World) escape.Answer {
			err := error(unix.ENOSYS)
			for _, path := range []string{"/usr/share/common-licenses/GPL-3", "/usr/share/zoneinfo/Antarctica/Troll", "/usr/lib/os-release"} {
				if err = lease(path); !errors.Is(err, unix.ENOENT) {
					break
				}
			}
			return outcome(err)
		},
		"own-listener": func(*escape.World) escape.Answer {
			allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
			var c child
			c.kept = append(c.kept, allow)
			c.do(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			c.do(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
				unsafe.Pointer(&unix.SockFprog{Len: 1, Filter: &allow[0]}))
			return outcome(c.run())
		},
		"kernel-files": func(*escape.World) escape.Answer {
			text, err := os.ReadFile("/proc/slabinfo")
			if err == nil && len(text) == 0 {
				return denied("it is empty")
			}
			return outcome(err)
		},
		"io-uring":        func(*escape.World) escape.Answer { return setUpUring() },
		"kexec":           one(is(unix.EINVAL), unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff),
		"module":          one(is(unix.ENOEXEC, unix.EFAULT), unix.SYS_INIT_MODULE, 0, 0, 0),
		"module-remove":   one(is(unix.ENOENT), unix.SYS_DELETE_MODULE, "no_such_module", unix.O_NONBLOCK),
		"swap":            one(is(unix.ENOENT), unix.SYS_SWAPON, none, 0),
		"quota":           one(is(unix.ENOENT), unix.SYS_QUOTACTL, 0x800004<<8, none, 0, 0),
		"accounting":      one(is(unix.ENOENT), unix.SYS_ACCT, none),
		"clock":           one(nil, unix.SYS_SETTIMEOFDAY, 0, 0),
		"host-name":       one(is(unix.EINVAL), unix.SYS_SETHOSTNAME, "x", -1),
		"reboot":          one(is(unix.EINVAL), unix.SYS_REBOOT, 0, 0, 0, 0),
		"personality":     one(nil, unix.SYS_PERSONALITY, 0x0040000),
		"secret-memory":   one(nil, unix.SYS_MEMFD_SECRET, 0),
		"keyring-add":     one(nil, unix.SYS_ADD_KEY, "user", "probe", []byte("x"), 1, -2),
		"keyring-session": one(nil, unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0),
		"keyring-user": func(w *escape.World) escape.Answer {
			const ofUser = -4
			id, err := unix.KeyctlSearch(ofUser, "user", w.Key, 0)
			if err != nil {
				return outcome(err)
			}
			text := make([]byte, 4096)
			n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, text, 0)
			if err != nil {
				return outcome(err)
			}
			return found(strings.TrimRight(string(text[:n]), "\x00"))
		},
	}
}

func setUpUring() escape.Answer {
	u, err := newUring()
	if err == nil {
		_ = u.close()
	}
	return outcome(err)
}

// lease takes a lease on a file, and gives it back at once.
func lease(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return err
}
