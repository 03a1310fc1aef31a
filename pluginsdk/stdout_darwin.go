package pluginsdk

import (
	"os"

	"golang.org/x/sys/unix"
)

// mergeOutput makes descriptor 1 a duplicate of descriptor 2, for output that does not go
// through os.Stdout: that of C code and of programs that a tool starts. It also closes
// this process's end of the handshake pipe.
func mergeOutput(stdout, stderr *os.File) {
	_ = unix.Dup2(int(stderr.Fd()), int(stdout.Fd()))
}
