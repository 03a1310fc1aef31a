package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// limits are ways to take more of the machine than was given. Each takes a fixed amount.
func limits() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"take-memory": func(*escape.World) escape.Answer {
			const size, populate = escape.TakenMemory, 23 // MADV_POPULATE_WRITE
			var c child
			at := c.do(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
			c.do(unix.SYS_MADVISE, at, size, populate)
			err := c.run()
			if errors.Is(err, errEnded) {
				return denied(err.Error())
			}
			return outcome(err)
		},
		"take-processes": func(*escape.World) escape.Answer {
			var all []*child
			defer func() {
				for _, c := range all {
					_ = unix.Kill(c.pid, unix.SIGKILL)
					_ = c.wait()
				}
			}()
			for range escape.TakenProcesses {
				c := &child{}
				c.do(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
				if err := c.start(); err != nil {
					return outcome(err)
				}
				all = append(all, c)
			}
			return done("")
		},
		"take-descriptors": func(*escape.World) escape.Answer {
			var all []int
			defer func() {
				for _, fd := range all {
					_ = unix.Close(fd)
				}
			}()
			for range escape.TakenDescriptors {
				fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 0)
				if err != nil {
					return outcome(err)
				}
				all = append(all, fd)
			}
			return done("")
		},
		"take-signals": func(*escape.World) escape.Answer {
			var all []int32
			defer func() {
				for _, timer := range all {
					_, _, _ = unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(timer), 0, 0)
				}
			}()
			for range escape.TakenSignals {
				var timer int32
				if _, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&timer))); errno != 0 {
					return outcome(errno)
				}
				all = append(all, timer)
			}
			return done("")
		},
		"take-disk": func(w *escape.World) escape.Answer {
			path := filepath.Join(os.TempDir(), w.Nonce)
			defer func() { _ = os.Remove(path) }()
			ignore := make([]uintptr, 8)
			ignore[0] = 1 // SIG_IGN
			var c child
			c.do(unix.SYS_RT_SIGACTION, int(unix.SIGXFSZ), unsafe.Pointer(&ignore[0]), 0, 8)
			fd := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_CREAT|unix.O_WRONLY, 0o600)
			c.do(unix.SYS_PWRITE64, fd, []byte("x"), 1, escape.TakenDisk)
			return outcome(c.run())
		},
		"take-tmp": func(w *escape.World) escape.Answer {
			dir, err := os.MkdirTemp("", "probe-")
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = os.RemoveAll(dir) }()
			part := make([]byte, escape.TakenDisk/8)
			for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
				if err := os.WriteFile(filepath.Join(dir, name), part, 0o600); err != nil {
					return outcome(err)
				}
			}
			return done("")
		},
		"take-processor": func(*escape.World) escape.Answer {
			const work = 200 * time.Millisecond
			var all sync.WaitGroup
			until := cpuTime() + work
			for range runtime.NumCPU() { // so that others, who also want them, leave it more than its limit
				all.Go(func() {
					for cpuTime() < until {
					}
				})
			}
			all.Wait()
			return done("")
		},
	}
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
