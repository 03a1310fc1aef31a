//go:build unix

package trusted

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// openOnly waits for no FIFO's other end.
const openOnly = os.O_RDONLY | syscall.O_NONBLOCK

// OthersMayWrite reports whether somebody besides the owner may write. Write
// permission for the owner's own group does not count: many systems give each user
// a group of one.
func OthersMayWrite(info fs.FileInfo) bool {
	perm := info.Mode().Perm()
	return perm&0o002 != 0 || perm&0o020 != 0 && !ownGroup(info)
}

func ownGroup(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	owner, err := user.LookupId(strconv.FormatUint(uint64(st.Uid), 10))
	return err == nil && owner.Gid == strconv.FormatUint(uint64(st.Gid), 10)
}

// Ours reports whether a file belongs to this user or root.
func Ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int64(st.Uid) == int64(os.Geteuid()))
}
