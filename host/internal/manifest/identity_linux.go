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
		device: uint64(st.Dev), inode: st.Ino, //nolint:unconvert // narrower on other architectures
		size: info.Size(), mtime: st.Mtim.Nano(), changed: st.Ctim.Nano(),
	}, true
}
