package mcpstdio

import (
	"context"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pollTime is how long a system call may wait: one without end could not be ended.
const pollTime = 100 * time.Millisecond

// deserted returns a channel that is closed when no one reads what is written to a pipe or
// socket any more. The watch ends with ctx.
func deserted(ctx context.Context, out any) <-chan struct{} {
	gone := make(chan struct{})
	of, ok := out.(syscall.Conn)
	if !ok {
		return gone
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return gone
	}
	go func() {
		for ctx.Err() == nil {
			var n int
			var asked error
			var at []unix.PollFd
			if err := raw.Control(func(fd uintptr) {
				at = []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // descriptors are small; errors are reported without being asked for
				n, asked = unix.Poll(at, int(pollTime.Milliseconds()))
			}); err != nil || asked != nil && !errors.Is(asked, unix.EINTR) {
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
