//go:build linux || darwin || freebsd

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// peerUID asks the kernel which user is at the other end: of a listener's
// connection who connected, of another one who listens.
func peerUID(conn net.Conn) (int, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%T is no connection of a Unix socket", conn)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	uid, asked := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, asked = uidOf(int(fd)) }); err != nil {
		return 0, err
	}
	return uid, asked
}

// connect connects to a daemon of this user.
func connect(path string) (net.Conn, error) {
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
	if owner := ownerOf(info); owner != os.Geteuid() {
		return nil, foreign(path, owner)
	}
	conn, err := net.DialTimeout("unix", path, connectTimeout)
	if err != nil {
		if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) { // it was killed
			return nil, ErrNoDaemon
		}
		return nil, err
	}
	uid, err := peerUID(conn)
	if err == nil && uid != os.Geteuid() {
		err = foreign(path, uid)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// foreign keeps a command from telling its arguments to whoever made the socket.
func foreign(path string, uid int) error {
	return &tool.Error{
		Code: tool.CodePermissionDenied, Message: fmt.Sprintf("the socket %s belongs to user %d, and not to this one", path, uid),
		Hint: "name another with --socket, or use --no-daemon",
	}
}
