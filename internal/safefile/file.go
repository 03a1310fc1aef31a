package safefile

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// NoFollow is a flag for opening: the open fails for a symbolic link, and does not wait
// for the other end of a FIFO.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// fullErrors are the errors of writes that find no more space.
var fullErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

func openNoFollow(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|NoFollow, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errSymlink
	}
	return f, err
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // the file system does not know this
	}
	return errors.Join(err, d.Close())
}

// Private reports whether a file belongs to this user, and gives others none of these
// permissions.
func Private(info fs.FileInfo, permissions fs.FileMode) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && info.Mode().Perm()&permissions == 0
}

// Ours reports whether a file belongs to this user or root.
func Ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int64(st.Uid) == int64(os.Geteuid()))
}

// OthersMayWrite reports whether users other than the owner may write. Write permission
// for the owner's own group does not count: many systems give each user a group of one.
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
