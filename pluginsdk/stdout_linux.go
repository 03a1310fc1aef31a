package pluginsdk

import (
	"os"

	"golang.org/x/sys/unix"
)

// mergeOutput lets descriptor 1 lead where descriptor 2 does, for what does not
// print through os.Stdout: C code, and programs that a tool starts. The host's
// pipe for the handshake ends with that.
func mergeOutput(stdout, stderr *os.File) {
	_ = unix.Dup3(int(stderr.Fd()), int(stdout.Fd()), 0)
}
