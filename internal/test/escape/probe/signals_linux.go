package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// catches are the signals that a victim reports. Each attempt has its own.
var catches = []os.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGWINCH, unix.SIGIO, unix.SIGALRM}

// signals are ways to signal other processes. The host gets only the signal 0, which asks
// whether another could be sent.
func signals() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"kill":      func(w *escape.World) escape.Answer { return outcome(unix.Kill(w.Neighbour.PID, unix.SIGUSR1)) },
		"kill-host": func(w *escape.World) escape.Answer { return outcome(unix.Kill(w.Host.PID, 0)) },
		"kill-group": func(w *escape.World) escape.Answer {
			return outcome(unix.Kill(-w.Neighbour.PID, unix.SIGALRM))
		},
		"kill-thread": func(w *escape.World) escape.Answer {
			return outcome(unix.Tgkill(w.Neighbour.PID, w.Neighbour.TID, unix.SIGUSR2))
		},
		"kill-pidfd": func(w *escape.World) escape.Answer {
			fd, err := unix.PidfdOpen(w.Neighbour.PID, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(fd) }()
			return outcome(unix.PidfdSendSignal(fd, unix.SIGWINCH, nil, 0))
		},
		"kill-queue": func(w *escape.World) escape.Answer {
			const queued = -1
			info := make([]int32, 32)
			info[0], info[2] = int32(unix.SIGHUP), queued
			_, err := call(unix.SYS_RT_SIGQUEUEINFO, w.Neighbour.PID, int(unix.SIGHUP), unsafe.Pointer(&info[0]))
			return outcome(err)
		},
		// The kernel sends it, when there is something to read.
		"kill-owner": func(w *escape.World) escape.Answer {
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
				return outcome(err)
			}
			defer func() { _, _ = unix.Close(p[0]), unix.Close(p[1]) }()
			if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, w.Neighbour.PID); err != nil {
				return outcome(err)
			}
			if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK); err != nil {
				return outcome(err)
			}
			_, err := unix.Write(p[1], []byte("x"))
			return outcome(err)
		},
	}
}
