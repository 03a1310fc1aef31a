//go:build unix

package workspace

import "golang.org/x/sys/unix"

// withoutWaiting opens a named pipe at once, whether or not anybody is at its
// other end, and does not make a terminal the plugin's own.
const withoutWaiting = unix.O_NONBLOCK | unix.O_NOCTTY
