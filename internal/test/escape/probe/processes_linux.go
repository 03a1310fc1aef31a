package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// processes are ways to look into other processes and to change how they run.
func processes() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"processes-list": func(w *escape.World) escape.Answer {
			_, err := os.Stat(proc(w.Neighbour, ""))
			if err == nil && processAt(w.Neighbour.PID) != "probe" {
				return denied("another process has its number")
			}
			return outcome(err)
		},
		"arguments": func(w *escape.World) escape.Answer {
			text, err := os.ReadFile(proc(w.Neighbour, "cmdline"))
			if err == nil && !bytes.Contains(text, []byte("victim")) {
				return denied("it has no arguments")
			}
			return outcome(err)
		},
		"environment": func(w *escape.World) escape.Answer { return environment(w.Neighbour) },
		"host-environment": func(w *escape.World) escape.Answer {
			text, err := os.ReadFile(proc(w.Host, "environ"))
			if err == nil && len(text) == 0 {
				return denied("it is empty")
			}
			return outcome(err)
		},
		"memory":       func(w *escape.World) escape.Answer { return memory(w.Neighbour) },
		"host-memory":  func(w *escape.World) escape.Answer { return memory(w.Host) },
		"memory-write": memoryWrite,
		"maps": func(w *escape.World) escape.Answer {
			text, err := os.ReadFile(proc(w.Neighbour, "maps"))
			if err == nil && len(text) == 0 {
				return denied("it is empty")
			}
			return outcome(err)
		},
		"vm-read": func(w *escape.World) escape.Answer {
			text := make([]byte, w.Neighbour.Length)
			n, err := unix.ProcessVMReadv(w.Neighbour.PID, []unix.Iovec{iovec(text)}, []unix.RemoteIovec{{Base: w.Neighbour.Secret, Len: len(text)}}, 0)
			if err != nil {
				return outcome(err)
			}
			return found(text[:n])
		},
		"vm-write": func(w *escape.World) escape.Answer {
			text := []byte(w.Nonce)
			_, err := unix.ProcessVMWritev(w.Neighbour.PID, []unix.Iovec{iovec(text)}, []unix.RemoteIovec{{Base: w.Neighbour.Scratch, Len: len(text)}}, 0)
			return outcome(err)
		},
		"ptrace-attach": func(w *escape.World) escape.Answer { return attach(unix.PTRACE_ATTACH, w.Neighbour.PID) },
		"ptrace-seize":  func(w *escape.World) escape.Answer { return attach(unix.PTRACE_SEIZE, w.Neighbour.PID) },
		"ptrace-me": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0)
			return outcome(c.run())
		},
		"take-file":      func(w *escape.World) escape.Answer { return takeFile(w.Neighbour) },
		"host-take-file": func(w *escape.World) escape.Answer { return takeFile(w.Host) },
		"kcmp": func(w *escape.World) escape.Answer {
			_, err := call(unix.SYS_KCMP, os.Getpid(), w.Neighbour.PID, 1, 0, 0)
			return outcome(err)
		},
		"priority": func(w *escape.World) escape.Answer {
			// One more than now, as less takes a right. If it does not tell, the attempt is made all the same.
			const zero = 20 // as the system call counts
			now, _ := unix.Getpriority(unix.PRIO_PROCESS, w.Neighbour.PID)
			return outcome(unix.Setpriority(unix.PRIO_PROCESS, w.Neighbour.PID, zero-now+1))
		},
		"io-priority": func(w *escape.World) escape.Answer {
			const process, idle = 1, 3 << 13
			_, err := call(unix.SYS_IOPRIO_SET, process, w.Neighbour.PID, idle)
			return outcome(err)
		},
		"priority-group": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETSID) // a group of its own
			c.do(unix.SYS_SETPRIORITY, unix.PRIO_PGRP, 0, 19)
			return outcome(c.run())
		},
		"io-priority-group": func(*escape.World) escape.Answer {
			const group, idle = 2, 3 << 13
			var c child
			c.do(unix.SYS_SETSID)
			c.do(unix.SYS_IOPRIO_SET, group, 0, idle)
			return outcome(c.run())
		},
		"limits": func(w *escape.World) escape.Answer {
			var limit unix.Rlimit
			if err := unix.Prlimit(w.Neighbour.PID, unix.RLIMIT_CORE, nil, &limit); err != nil {
				return outcome(err)
			}
			limit.Cur = 0
			return outcome(unix.Prlimit(w.Neighbour.PID, unix.RLIMIT_CORE, &limit, nil))
		},
		"affinity": func(w *escape.World) escape.Answer {
			var cpus unix.CPUSet
			if err := unix.SchedGetaffinity(w.Neighbour.PID, &cpus); err != nil {
				return outcome(err)
			}
			return outcome(unix.SchedSetaffinity(w.Neighbour.PID, &cpus))
		},
		"scheduler": func(w *escape.World) escape.Answer {
			const batch = 3
			param := make([]byte, 4)
			_, err := call(unix.SYS_SCHED_SETSCHEDULER, w.Neighbour.PID, batch, param)
			return outcome(err)
		},
		"oom-score": func(w *escape.World) escape.Answer {
			f, err := os.OpenFile(proc(w.Neighbour, "oom_score_adj"), os.O_WRONLY, 0)
			if err != nil {
				return outcome(err)
			}
			_, err = f.WriteString("999")
			_ = f.Close()
			return outcome(err)
		},
		"settings": func(w *escape.World) escape.Answer {
			path := proc(w.Neighbour, "coredump_filter")
			now, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, append([]byte("0x"), now...), 0o600)
			}
			return outcome(err)
		},
		"perf-neighbour": func(w *escape.World) escape.Answer { return perf(w.Neighbour.PID) },
		"sockets-list": func(w *escape.World) escape.Answer {
			return listsPort("/proc/self/net/tcp", w.TCP)
		},
	}
}

func processAt(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return string(bytes.TrimSpace(name))
}

func iovec(b []byte) unix.Iovec {
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	return v
}

func environment(v escape.Victim) escape.Answer {
	text, err := os.ReadFile(proc(v, "environ"))
	if err != nil {
		return outcome(err)
	}
	if _, secret, ok := bytes.Cut(text, []byte(victimVariable+"=")); ok {
		secret, _, _ = bytes.Cut(secret, []byte{0})
		return found(secret)
	}
	return denied("the variable is not there")
}

func memory(v escape.Victim) escape.Answer {
	f, err := os.Open(proc(v, "mem"))
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, v.Length)
	if _, err := f.ReadAt(text, int64(v.Secret)); err != nil {
		return outcome(err)
	}
	return found(text)
}

func memoryWrite(w *escape.World) escape.Answer {
	f, err := os.OpenFile(proc(w.Neighbour, "mem"), os.O_RDWR, 0)
	if err != nil {
		return outcome(err)
	}
	_, err = f.WriteAt([]byte(w.Nonce), int64(w.Neighbour.Scratch))
	_ = f.Close()
	return outcome(err)
}

// attach traces a process, and lets it go on.
func attach(request, pid int) escape.Answer {
	runtime.LockOSThread()
	if _, err := call(unix.SYS_PTRACE, request, pid, 0, 0); err != nil {
		return outcome(err)
	}
	if request == unix.PTRACE_SEIZE {
		_, _ = call(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, pid, 0, 0)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil {
		return inconclusive("it is traced and does not stop: %v", err)
	}
	return outcome(unix.PtraceDetach(pid))
}

// takeFile takes a descriptor of another process.
func takeFile(v escape.Victim) escape.Answer {
	fd, err := unix.PidfdOpen(v.PID, 0)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = unix.Close(fd) }()
	taken, err := unix.PidfdGetfd(fd, v.File, 0)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = unix.Close(taken) }()
	text := make([]byte, v.Length)
	n, err := unix.Pread(taken, text, 0)
	if err != nil {
		return outcome(err)
	}
	return found(text[:n])
}

func perf(pid int) escape.Answer {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		_ = unix.Close(fd)
	}
	return outcome(err)
}

// listsPort looks for a listener in a table of /proc.
func listsPort(path, address string) escape.Answer {
	text, err := os.ReadFile(path)
	if err != nil {
		return outcome(err)
	}
	port, err := strconv.Atoi(address[bytes.LastIndexByte([]byte(address), ':')+1:])
	if err != nil {
		return inconclusive("%v", err)
	}
	if bytes.Contains(text, fmt.Appendf(nil, ":%04X 00000000:0000 0A", port)) {
		return done("")
	}
	return denied("the listener is not in the table")
}
