package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/internal/escape"
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

// remains are ways to be there when the plugin was closed. The test looks for what they leave.
func remains() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"stay-forked": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETSID)
			return c.stay()
		},
		"stay-ignoring": func(*escape.World) escape.Answer {
			var c child
			ignore := make([]uintptr, 8)
			ignore[0] = 1 // SIG_IGN
			for _, s := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
				c.do(unix.SYS_RT_SIGACTION, int(s), unsafe.Pointer(&ignore[0]), 0, 8)
			}
			c.kept = append(c.kept, ignore)
			c.do(unix.SYS_SETSID)
			return c.stay()
		},
		"stay-unmarked": func(*escape.World) escape.Answer {
			cmd := exec.Command("/bin/sh", "-c", "sleep 600 & echo $!") //nolint:noctx // it ends at once
			cmd.Env = []string{"PATH=/bin:/usr/bin"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			r, w, err := os.Pipe()
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = r.Close() }()
			cmd.Stdout = w
			err = cmd.Run()
			_ = w.Close()
			if err != nil {
				return outcome(err)
			}
			line := make([]byte, 32)
			n, err := r.Read(line)
			if err != nil {
				return outcome(err)
			}
			pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:n])))
			if err != nil {
				return inconclusive("%v", err)
			}
			return staying(pid)
		},
		"stay-in-group": func(w *escape.World) escape.Answer {
			if w.CGroup == "" {
				return escape.Answer{Outcome: escape.Unavailable, Note: "the test can make no control group"}
			}
			var c child
			fd := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, w.CGroup+"/cgroup.procs", unix.O_WRONLY, 0)
			c.do(unix.SYS_WRITE, fd, []byte("0"), 1)
			return outcome(c.run())
		},
		"leave-segment": func(w *escape.World) escape.Answer {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, w.SegmentSize(), 0o600|unix.IPC_CREAT)
			if err != nil {
				return outcome(err)
			}
			return escape.Answer{Outcome: escape.Done, Left: id}
		},
	}
}

// stay forks once more, so that the process has no parent here, and waits for ever. Its number
// is told as /proc has it.
func (c *child) stay() escape.Answer {
	number, err := unix.Mmap(-1, 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return outcome(err)
	}
	const setTID = unix.CLONE_PARENT_SETTID
	c.steps[c.do(unix.SYS_CLONE, setTID|int(unix.SIGCHLD), 0, number)].leaves = 1
	c.do(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
	if err := c.start(); err != nil {
		return outcome(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(c.pid, &status, unix.WALL, nil); err != nil {
		return inconclusive("%v", err)
	}
	pid := int(*(*int32)(unsafe.Pointer(&number[0])))
	if pid == 0 {
		return outcome(c.firstError())
	}
	return staying(pid)
}

// staying is the answer of an attempt that has left a process. Other namespaces have other
// numbers for it, which the test finds by the link.
func staying(pid int) escape.Answer {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return outcome(fmt.Errorf("process %d: %w", pid, err))
	}
	return escape.Answer{Outcome: escape.Done, PID: pid}
}
