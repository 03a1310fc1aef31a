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
		device: uint64(st.Dev), inode: st.Ino, //nolint:gosec // a number of a device is never below zero
		size: info.Size(), mtime: st.Mtimespec.Nano(), changed: st.Ctimespec.Nano(),
	}, true
}
