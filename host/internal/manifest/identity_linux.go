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
		Device: uint64(st.Dev), Inode: st.Ino, //nolint:unconvert // narrower on other architectures
		Size: info.Size(), MTime: st.Mtim.Nano(), Changed: st.Ctim.Nano(),
	}, true
}
