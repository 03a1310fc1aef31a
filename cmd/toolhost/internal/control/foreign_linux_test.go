package control_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// visitVariable makes this test binary another user's client of a socket.
const visitVariable = "TOOLHOST_TEST_VISIT"

func TestMain(m *testing.M) {
	if path := os.Getenv(visitVariable); path != "" {
		os.Exit(visit(path))
	}
	os.Exit(m.Run())
}

// visit tells what a plain client gets, and what a command makes of it.
func visit(path string) int {
	out := os.Stdout
	conn, err := net.Dial("unix", path)
	if err == nil {
		_, _ = io.WriteString(conn, state)
		answer, _ := io.ReadAll(conn)
		_, _ = io.WriteString(out, "answer: "+string(answer)+"\n")
	}
	_, err = control.Dial(context.Background(), path, false)
	if err != nil {
		_, _ = io.WriteString(out, "command: "+string(tool.CodeOf(err))+" "+err.Error()+"\n")
	}
	return 0
}

// Another user gets nothing from a daemon, though the socket was opened to all, and
// does not speak to it either.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := require.Must(os.MkdirTemp("/tmp", "thc-"))(t)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "c.sock")
	claim := require.Must(control.Take(path, control.Holder{PID: os.Getpid()}))(t)
	refused := make(chan error, 10)
	ln := require.Must(claim.Listen(1, admits, func(err error) { refused <- err }))(t)
	go func() {
		if conn, err := ln.Accept(); err == nil {
			t.Error("it was let in")
			_ = conn.Close()
		}
	}()
	for name, mode := range map[string]os.FileMode{dir: 0o755, path: 0o666} {
		require.NoError(t, os.Chmod(name, mode))
	}
	program := filepath.Join(dir, "visit")
	if out, err := exec.CommandContext(t.Context(), "cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	for _, owner := range []int{0, 65534} { // of the socket: the one who listens counts, too
		require.NoError(t, os.Chown(path, owner, owner))
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), visitVariable+"="+path)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if text := string(out); !strings.HasPrefix(text, "answer: \n") || !strings.Contains(text, "command: permission_denied the socket "+path+" belongs to user 0") {
			t.Errorf("it is told %q", text)
		}
		if err := <-refused; !strings.Contains(err.Error(), "user 65534 connected") {
			t.Errorf("it was refused with %v", err)
		}
	}
	assert.NoError(t, ln.Close())
	assert.NoError(t, claim.Release())
}

// A socket of another user is none of the command's, whoever listens there: also root
// tells nothing to a user who poses as its daemon.
func TestDialAnotherUsersSocket(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	d := newDaemon(t)
	require.NoError(t, os.Chown(d.path, 65534, -1))
	if _, err := control.Dial(t.Context(), d.path, false); tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "user 65534") {
		t.Errorf("it dials: %v", err)
	}
}
