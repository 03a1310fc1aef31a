package main

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// rights are ways to more rights than the process began with.
func rights() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"gain-by-program": func(*escape.World) escape.Answer {
			text, err := os.ReadFile("/proc/thread-self/status")
			if err != nil {
				return outcome(err)
			}
			if bytes.Contains(text, []byte("NoNewPrivs:\t0")) {
				return done("no_new_privs is not set")
			}
			return denied("no_new_privs is set")
		},
		"regain": func(*escape.World) escape.Answer {
			header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			all := &[2]unix.CapUserData{{Effective: ^uint32(0), Permitted: ^uint32(0)}, {Effective: ^uint32(0), Permitted: ^uint32(0)}}
			var c child
			c.try(unix.SYS_SETUID, 0)
			c.try(unix.SYS_CAPSET, unsafe.Pointer(header), unsafe.Pointer(all))
			c.do(unix.SYS_SETHOSTNAME, "x", -1)
			return reached(c.run(), unix.EINVAL)
		},
		"change-user": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETRESUID, 12345, 12345, 12345)
			err := c.run()
			if errors.Is(err, unix.EINVAL) {
				return denied("there is no other user in its namespace")
			}
			return outcome(err)
		},
		"raise-limit": func(*escape.World) escape.Answer {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
				return outcome(err)
			}
			limit.Max++
			var c child
			c.do(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, unsafe.Pointer(&limit), 0)
			return outcome(c.run())
		},
		"change-brand": func(*escape.World) escape.Answer {
			// A filter sees an address in two halves, of which the lower can be 0. New memory has a limit of 0.
			const page, flags = 1 << 32, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED_NOREPLACE
			var limit unix.Rlimit
			var c child
			c.do(unix.SYS_MMAP, page, 4096, unix.PROT_READ, flags, -1, 0)
			ways := []result{
				c.do(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_LOCKS, page, 0),
				c.do(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_LOCKS, unsafe.Pointer(&limit), 0),
				c.do(unix.SYS_SETRLIMIT, unix.RLIMIT_LOCKS, unsafe.Pointer(&limit)),
			}
			for _, way := range ways {
				c.steps[way].soft = 1
			}
			err := c.run()
			for i := 0; i < len(ways) && err == nil; i++ {
				if _, refused := c.value(ways[i]); refused == nil {
					return outcome(nil)
				}
			}
			return outcome(cmp.Or[error](err, unix.EPERM))
		},
		"raise-priority": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, -1)
			return outcome(c.run())
		},
		"real-time": func(*escape.World) escape.Answer {
			const fifo = 1
			priority := int32(1)
			var c child
			c.do(unix.SYS_SCHED_SETSCHEDULER, 0, fifo, unsafe.Pointer(&priority))
			return outcome(c.run())
		},
	}
}
