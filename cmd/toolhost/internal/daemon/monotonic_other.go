//go:build !linux

package daemon

import "time"

// monotonic is only for the service manager of Linux.
func monotonic() (time.Duration, bool) { return 0, false }
