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
	return &tool.Error{Code: tool.CodeResourceExhausted, Err: err, Message: fmt.Sprintf("%v; the limit of its sandbox is disk, %s a file", err, size)}
}
