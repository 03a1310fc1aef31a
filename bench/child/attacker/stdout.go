package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// realStdout is the pipe that the host gave this process, which pluginsdk lets
// standard output lead away from.
func realStdout() *os.File {
	fd, err := unix.Dup(int(os.Stdout.Fd()))
	if err != nil {
		panic(err)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "stdout")
}
