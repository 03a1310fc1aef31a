package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitStop waits until a child is suspended. On Linux a process stops thread by
// thread, after kill has returned. The notice is left for others to receive.
func awaitStop(pid int) error {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
