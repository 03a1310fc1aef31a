package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// remains are ways to be there when the plugin was closed. The test looks for what they leave.
func remains() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"stay-forked": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETSID)
			return c.stay(nil)
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
			return c.stay(nil)
		},
		"stay-cleared": func(*escape.World) escape.Answer {
			begin, length, err := environ()
			if err != nil {
				return inconclusive("%v", err)
			}
			var c child
			c.do(unix.SYS_SETSID)
			zero := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, "/dev/zero", unix.O_RDONLY, 0)
			c.do(unix.SYS_READ, zero, begin, length)
			return c.stay(nil)
		},
		"stay-concealed": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETSID)
			c.do(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
			return c.stay(nil)
		},
		"stay-lowered": func(*escape.World) escape.Answer {
			var own unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &own); err != nil {
				return inconclusive("%v", err)
			}
			lower := unix.Rlimit{Cur: own.Max / 3, Max: own.Max / 3}
			var c child
			c.do(unix.SYS_SETSID)
			c.do(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_LOCKS, unsafe.Pointer(&lower), 0)
			return c.stay(nil)
		},
		"late-listener": lateListener,
		"parent-zombies": func(*escape.World) escape.Answer {
			c := child{flags: unix.CLONE_PARENT}
			c.do(unix.SYS_GETPID)
			err := c.start()
			switch {
			case errors.Is(err, unix.EINVAL):
				return denied("the first process of a namespace has no siblings")
			case err != nil:
				return outcome(err)
			}
			return staying(c.pid)
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

// stay forks once more, so that the process has no parent here, does what then adds, and waits for
// ever. Its number is told as /proc has it.
func (c *child) stay(then func()) escape.Answer {
	number, err := unix.Mmap(-1, 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return outcome(err)
	}
	const setTID = unix.CLONE_PARENT_SETTID
	c.steps[c.do(unix.SYS_CLONE, setTID|int(unix.SIGCHLD), 0, number)].leaves = 1
	if then != nil {
		then()
	}
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

// environ returns where this process has its environment.
func environ() (begin uintptr, length int, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the first is the third
	first, err1 := strconv.ParseUint(string(fields[50-3]), 10, 64)
	end, err2 := strconv.ParseUint(string(fields[51-3]), 10, 64)
	return uintptr(first), int(end - first), errors.Join(err1, err2)
}

// lateListener leaves a process that waits for the end of the plugin, and then connects to the
// daemon's socket: if it can, with a filter of its own, whose listener lets its calls go on.
func lateListener(w *escape.World) escape.Answer {
	begin, length, err := environ()
	if err != nil {
		return inconclusive("%v", err)
	}
	var ended, goOn [2]int // the first is closed with the plugin
	for _, p := range []*[2]int{&ended, &goOn} {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return outcome(err)
		}
	}
	defer func() { _, _, _ = unix.Close(ended[0]), unix.Close(goOn[0]), unix.Close(goOn[1]) }()
	// The rest of struct seccomp_notif_resp after the number: no value, no error, SECCOMP_USER_NOTIF_FLAG_CONTINUE.
	if _, err := unix.Write(goOn[1], append(make([]byte, 12), 1, 0, 0, 0)); err != nil {
		return outcome(err)
	}
	const notify, allow = 0x7fc00000, 0x7fff0000
	rules := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CONNECT, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: notify},
		{Code: unix.BPF_RET | unix.BPF_K, K: allow},
	}
	program := unix.SockFprog{Len: uint16(len(rules)), Filter: &rules[0]}
	address := append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), w.Daemon+"\x00"...)
	call := make([]byte, 80) // struct seccomp_notif, and then the answer
	pause := unix.Timespec{Sec: 2}
	c := child{kept: []any{rules, &program, &pause}}
	c.do(unix.SYS_SETSID)
	return c.stay(func() {
		zero := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, "/dev/zero", unix.O_RDONLY, 0)
		c.do(unix.SYS_READ, zero, begin, length)
		c.do(unix.SYS_CLOSE, ended[1])
		c.do(unix.SYS_READ, ended[0], make([]byte, 1), 1)
		c.do(unix.SYS_NANOSLEEP, unsafe.Pointer(&pause), 0) // until its host has seen to the end
		c.try(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		listener := result(len(c.steps))
		c.try(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, unsafe.Pointer(&program))
		fork := c.do(unix.SYS_CLONE, int(unix.SIGCHLD), 0, 0, 0, 0)
		fd := c.do(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0)
		c.do(unix.SYS_CONNECT, fd, address, len(address))
		c.do(unix.SYS_WRITE, fd, []byte(w.Nonce), len(w.Nonce))
		for range 8 { // an answer may come in parts
			c.try(unix.SYS_READ, fd, make([]byte, 4096), 4096)
		}
		c.do(unix.SYS_EXIT_GROUP, 0)
		c.steps[fork].parent = uint32(len(c.steps))
		c.try(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, call)
		c.try(unix.SYS_READ, goOn[0], call[8:], 16)
		c.try(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, call)
	})
}
