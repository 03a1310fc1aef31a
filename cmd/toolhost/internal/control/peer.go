package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// peer is the process at the other end of a connection, as the kernel identifies it.
type peer struct {
	uid int
	pid int // 0: the system does not say, or the process is not visible
}

// String returns a text for the audit log. It contains what the process cannot choose: its
// numbers and, if it can be read, its binary. Otherwise it contains the name that the process
// gives itself.
func (p peer) String() string {
	if p.pid == 0 {
		return fmt.Sprintf("a process of user %d", p.uid)
	}
	binary, name := binaryOf(p.pid)
	switch {
	case binary != "":
		return fmt.Sprintf("process %d of user %d, %s", p.pid, p.uid, sanitize.Line(binary, 160))
	case name != "":
		return fmt.Sprintf("process %d of user %d, named %s", p.pid, p.uid, sanitize.Quote(name, 32))
	}
	return fmt.Sprintf("process %d of user %d", p.pid, p.uid)
}

// peerAt asks the kernel which process is at the other end.
func peerAt(conn net.Conn) (p peer, err error) {
	p.uid, p.pid, err = confine.Peer(conn)
	return p, err
}

// connectTo connects to a daemon of this user, or, if foreign, to one of the user who owns the
// socket.
func connectTo(path string, foreign bool) (net.Conn, error) {
	info, err := os.Lstat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return nil, ErrNoDaemon
		}
		return nil, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, ErrNoDaemon
	}
	owner := ownerOf(info)
	if owner != os.Geteuid() && !foreign {
		return nil, foreignError(path, owner)
	}
	conn, err := net.DialTimeout("unix", path, connectTimeout)
	if err != nil {
		if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) { // it was killed
			return nil, ErrNoDaemon
		}
		return nil, err
	}
	who, err := peerAt(conn)
	if err == nil && who.uid != owner {
		err = foreignError(path, who.uid)
	}
	if err == nil {
		if why := confine.OfPlugin(conn.(*net.UnixConn), false); why != "" {
			err = tool.Errorf(tool.CodePermissionDenied,
				"%s listens on the socket %s and belongs to a plugin: %s", who, path, why).
				Try("name another with --socket, or use --no-daemon")
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// foreignError returns the error for a socket of another user, who must not get the arguments.
func foreignError(path string, uid int) error {
	return tool.Errorf(tool.CodePermissionDenied, "the socket %s belongs to user %d, not to this user", path, uid).
		Try("name another with --socket, or use --no-daemon; to use the daemon of that user, " +
			"use its configuration (--config), which names your uid under callers")
}
