package pluginrun

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
)

// checkPeer returns an error unless the process at the other end of a unix connection is the
// one that was started, or a descendant, which an interpreter or a wrapper may have. The
// kernel recorded its number when the listener was made (unix(7), SO_PEERCRED), and gives it
// as this process sees it, whatever namespace the listener is in. A process cannot become
// the descendant of another plugin's. A session or a group would prove less: members of a
// session can join its groups.
func checkPeer(conn net.Conn, started int) error {
	peer, err := peerOf(conn)
	if err != nil {
		return err
	}
	pid := int(peer.Pid)
	for range maxDepth {
		switch {
		case pid == started:
			return nil
		case pid <= 1:
			return fmt.Errorf("the announced socket belongs to another process (%d, started was %d)", peer.Pid, started)
		}
		if pid, err = confine.Parent(pid); err != nil {
			return fmt.Errorf("the announced socket belongs to process %d, which cannot be examined: %w", peer.Pid, err)
		}
	}
	return fmt.Errorf("the announced socket belongs to process %d, more than %d generations away", peer.Pid, maxDepth)
}

// checkPeerUser returns an error unless this user runs the process at the other end.
func checkPeerUser(conn net.Conn) error {
	peer, err := peerOf(conn)
	if err == nil && int64(peer.Uid) != int64(os.Geteuid()) {
		err = fmt.Errorf("user %d listens there, and not this one", peer.Uid)
	}
	return err
}

func peerOf(conn net.Conn) (peer *unix.Ucred, err error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T has no peer credentials", conn)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	var credErr error
	err = raw.Control(func(fd uintptr) { peer, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return peer, errors.Join(err, os.NewSyscallError("getsockopt", credErr))
}

// maxDepth bounds how many generations may lie between a plugin's first process and
// the one that listens.
const maxDepth = 64
