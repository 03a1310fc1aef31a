package main

import (
	"net"
	"os"
)

// notify tells the service manager of this process, if there is one that wants to know
// (sd_notify(3)). Nothing depends on its getting there.
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(state))
	_ = conn.Close()
}
