package main

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/internal/escape"
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
		"perf":            func(*escape.World) escape.Answer { return perf(0) },
		"userfaultfd":     one(nil, unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1),
		"fanotify":        one(nil, unix.SYS_FANOTIFY_INIT, 0x200, unix.O_RDONLY),
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
