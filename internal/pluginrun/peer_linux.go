package pluginrun

import (
	"fmt"
	"net"
	"os"

	"github.com/toolhost/toolhost/internal/confine"
)

// checkPeer returns an error unless the process at the other end of a unix connection is the
// one that was started, or a descendant, which an interpreter or a wrapper may have. The
// kernel recorded its number when the listener was made (unix(7), SO_PEERCRED), and gives it
// as this process sees it, whatever namespace the listener is in. A process cannot become
// the descendant of another plugin's. A session or a group would prove less: members of a
// session can join its groups.
func checkPeer(conn net.Conn, started int) error {
	_, peer, err := confine.Peer(conn)
	if err != nil {
		return err
	}
	pid := peer
	for range maxDepth {
		switch {
		case pid == started:
			return nil
		case pid <= 1:
			return fmt.Errorf("the announced socket belongs to another process (%d, started was %d)", peer, started)
		}
		if pid, err = confine.Parent(pid); err != nil {
			return fmt.Errorf("the announced socket belongs to process %d, which cannot be examined: %w", peer, err)
		}
	}
	return fmt.Errorf("the announced socket belongs to process %d, more than %d generations away", peer, maxDepth)
}

// checkPeerUser returns an error unless this user runs the process at the other end.
func checkPeerUser(conn net.Conn) error {
	uid, _, err := confine.Peer(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("user %d listens there, and not this one", uid)
	}
	return err
}

// maxDepth bounds how many generations may lie between a plugin's first process and
// the one that listens.
const maxDepth = 64
