package schema

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// busy returns the CPU time of this thread, which other processes do not
// affect.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}
