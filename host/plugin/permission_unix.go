//go:build unix

package plugin

import (
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
)

func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// othersMayWrite reports whether somebody besides the owner may write. Write
// permission for the owner's own group does not count: many systems give each
// user a group of one.
func othersMayWrite(info fs.FileInfo) bool {
	perm := info.Mode().Perm()
	if perm&0o002 != 0 {
		return true
	}
	return perm&0o020 != 0 && !ownGroup(info)
}

func ownGroup(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	owner, err := user.LookupId(strconv.Itoa(int(st.Uid)))
	return err == nil && owner.Gid == strconv.Itoa(int(st.Gid))
}
