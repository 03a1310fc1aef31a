package main

import "golang.org/x/sys/unix"

// stopProcess returns when no thread of a child runs any more.
func stopProcess(pid int) error {
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return err
	}
	return awaitStop(pid)
}

// killProcess ends a process that may have ended already.
func killProcess(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }

func processAlive(pid int) bool { return unix.Kill(pid, 0) == nil }
