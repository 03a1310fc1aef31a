package process

import "golang.org/x/sys/unix"

// quit tells a process to quit.
func quit(pid int) { _ = unix.Kill(pid, unix.SIGQUIT) }
