package terminal

import "golang.org/x/sys/unix"

// flushInput does what tcflush(3) does: 1 is FREAD of <sys/fcntl.h>.
func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }
