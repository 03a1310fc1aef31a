package schema

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busy is the time that this thread has worked: what else the machine does takes none
// of it.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
