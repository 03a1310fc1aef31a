package manifest

import (
	"io/fs"
	"syscall"
)

func identityOf(info fs.FileInfo) (identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, false
	}
	return identity{
		Device: uint64(st.Dev), Inode: st.Ino, //nolint:gosec // a number of a device is never below zero
		Size: info.Size(), MTime: st.Mtimespec.Nano(), Changed: st.Ctimespec.Nano(),
	}, true
}
