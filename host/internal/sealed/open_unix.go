//go:build unix

package sealed

import (
	"io/fs"
	"os"
	"syscall"
)

// openOnly opens no symbolic link and waits for no FIFO's other end.
const openOnly = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// private reports whether nobody but this user can look into a directory, root aside.
func private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && info.Mode().Perm()&0o077 == 0
}
