package schema

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busy returns the CPU time of this thread, which other processes do not
// affect.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
