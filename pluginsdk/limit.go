package pluginsdk

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// overLimit is the error of a call that failed because its process has exceeded a limit that the
// system does not end it for; nil: that is not why.
func overLimit(err error) *tool.Error {
	limit := sizeLimit()
	if limit == 0 || !errors.Is(err, syscall.EFBIG) {
		return nil
	}
	size := fmt.Sprintf("%d bytes", limit)
	if limit%(1<<20) == 0 {
		size = fmt.Sprintf("%d MiB", limit>>20)
	}
	return tool.Errorf(tool.CodeResourceExhausted, "%w; the limit of its sandbox is disk, %s a file", err, size)
}

// sizeLimit returns how many bytes a file may have that this process writes; 0: there is no limit.
func sizeLimit() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) != nil || int64(limit.Cur) < 0 || int64(limit.Cur) == 1<<63-1 { //nolint:gosec,unconvert,nolintlint // its type differs
		return 0
	}
	return int64(limit.Cur) //nolint:gosec,unconvert,nolintlint // its type differs
}
