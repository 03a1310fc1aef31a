package pluginrun

import (
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// runCopy makes the command run a copy in place of the file at its path, which stays the
// name that the program sees. A memory file is run by its descriptor, which the process
// has until then: under a number above those that closeOthers closes, and those that
// the fork uses. Done closes it here.
func runCopy(cmd *exec.Cmd, p *pinnedCopy) (done func(), err error) {
	done = func() {}
	if p == nil {
		return done, nil
	}
	memory := p.file.Descriptor()
	if memory == nil {
		cmd.Path = p.file.Path()
		return done, nil
	}
	above := 3 + len(cmd.ExtraFiles) + forFork - 1
	fd, err := unix.FcntlInt(memory.Fd(), unix.F_DUPFD_CLOEXEC, above)
	if err != nil {
		return done, os.NewSyscallError("fcntl", err)
	}
	cmd.Path = "/proc/self/fd/" + strconv.Itoa(fd)
	return func() { _ = unix.Close(fd) }, nil
}
