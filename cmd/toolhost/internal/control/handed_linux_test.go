package control_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// handVariable makes this test's binary a process that connects to a socket, hands the connection on
// over descriptor 3, and ends.
const handVariable = "TOOLHOST_TEST_HAND"

func init() {
	path := os.Getenv(handVariable)
	if path == "" {
		return
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Sendmsg(3, []byte("x"), unix.UnixRights(fd), nil, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A connection of a process that has ended counts as a plugin's, whoever has it by now.
func TestHandedConnection(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	pair := require.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = append(os.Environ(), handVariable+"="+d.path), os.Stderr, []*os.File{theirs}
	require.NoError(t, cmd.Run())
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	require.NoError(t, err)
	messages := require.Must(unix.ParseSocketControlMessage(control[:n]))(t)
	fds := require.Must(unix.ParseUnixRights(&messages[0]))(t)
	f := os.NewFile(uintptr(fds[0]), "handed")
	conn := require.Must(net.FileConn(f))(t)
	defer func() { _, _ = f.Close(), conn.Close() }()
	_ = require.Must(io.WriteString(conn, state))(t)
	answer := string(require.Must(io.ReadAll(conn))(t))
	if !strings.HasPrefix(answer, "HTTP/1.1 403") || !strings.Contains(answer, "the process has ended") {
		t.Errorf("it is answered %q", answer)
	}
}
