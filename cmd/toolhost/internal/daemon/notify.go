package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// notify reports the state of this process to the service manager, if there is one
// (sd_notify(3)). Errors do not matter.
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a manager that does not read holds up nothing
	_, _ = conn.Write([]byte(state))
	_ = conn.Close()
}

// notifyReloading reports that a reload begins, and returns what reports its end. The manager
// tells the reload that it asked for from an earlier one by the clock (Type=notify-reload).
func notifyReloading() (ended func()) {
	now, ok := monotonic()
	if !ok {
		return func() {}
	}
	notify(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Microseconds()))
	return func() { notify("READY=1") }
}

// watchdog tells the service manager that the daemon is well, twice in the time that the manager
// allows, until ctx ends: as long as well returns, which takes the locks that all work needs.
func watchdog(ctx context.Context, well func()) {
	limit, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || limit <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return
	}
	tick := time.NewTicker(max(time.Duration(limit)*time.Microsecond/2, time.Millisecond))
	defer tick.Stop()
	for {
		well()
		notify("WATCHDOG=1")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
