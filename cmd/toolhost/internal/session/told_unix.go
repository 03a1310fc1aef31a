//go:build unix

package session

import "golang.org/x/sys/unix"

// terminalSession identifies the session of this process, which all commands of a terminal
// share; 0: it is not known.
func terminalSession() int {
	id, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return id
}
