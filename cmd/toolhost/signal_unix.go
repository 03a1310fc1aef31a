//go:build unix

package main

import "golang.org/x/sys/unix"

// canKill reports whether the demo can end a plugin in the middle of a call.
const canKill = true

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
