package hostile

import (
	"os"
	"syscall"
)

// segfault ends the process as it ends one that was written in C.
func segfault() {
	must(syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, os.Environ()))
}
