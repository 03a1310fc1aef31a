package mcpstdio

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollTime is how long a system call may wait: one without end could not be ended.
const pollTime = 100 * time.Millisecond

// deserted returns a channel that is closed when no one reads what is written to a pipe or
// socket any more. The watch ends with ctx.
func deserted(ctx context.Context, f *os.File) <-chan struct{} {
	gone := make(chan struct{})
	fd := int32(f.Fd()) //nolint:gosec // descriptors are small
	go func() {
		for ctx.Err() == nil {
			at := []unix.PollFd{{Fd: fd}} // errors are reported without being asked for
			n, err := unix.Poll(at, int(pollTime.Milliseconds()))
			if err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
			if n > 0 && at[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				close(gone)
				return
			}
			if n > 0 { // such as POLLNVAL
				return
			}
		}
	}()
	return gone
}
