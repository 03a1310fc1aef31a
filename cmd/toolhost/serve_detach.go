package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxDaemonLog is the size, in bytes, at which a start moves the log of earlier ones to FILE.1.
const maxDaemonLog = 16 << 20

// detached is a daemon that goes on when the command has ended.
type detached struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket"`
	Log    string `json:"log"`
}

// serveDetached starts the same command without --detach in a session of its own, and waits until it says, as
// it would to systemd, that it is ready.
func serveDetached(ctx context.Context, s *session.Session) error {
	path, err := s.Settings().SocketPath()
	if err != nil {
		return err
	}
	log, err := openDaemonLog()
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	defer func() { _ = log.Close() }()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	daemon, err := startDetached(ctx, log)
	_, _ = io.Copy(s.Err, io.NewSectionReader(log, before, 1<<20))
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return exit.With(max(failed.ExitCode(), exit.Failed), tool.Errorf(tool.CodeUnavailable,
			"the daemon ended before it was ready (%v)", failed).Try("it wrote why to "+log.Name()))
	case err != nil:
		return exit.With(exit.Failed, err)
	}
	return s.Answer(detached{daemon.Pid, path, log.Name()}, "the daemon (pid %d) serves on %s, and logs to %s\n", daemon.Pid, path, log.Name())
}

// startDetached returns the daemon when it is ready, or why it ended before.
func startDetached(ctx context.Context, log *os.File) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toolhost-ready-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	notices, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = notices.Close() }()
	cmd := exec.Command(self, withoutDetach(os.Args[1:])...) //nolint:gosec,noctx // it is this command, and goes on
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notices.LocalAddr().String(), "WATCHDOG_USEC=")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = notices.Close() // which ends the waiting
	}()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	if awaitReady(notices) {
		return cmd.Process, nil
	}
	if err = <-ended; err == nil { // it was told to
		err = context.Canceled
	}
	return nil, err
}

// openDaemonLog opens the log that daemons without a terminal append to.
func openDaemonLog() (*os.File, error) {
	dir, err := state.Dir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("there is no place for the daemon's log: %w", err)
	}
	path := filepath.Join(dir, "daemon.log")
	if info, err := os.Lstat(path); err == nil && info.Size() > maxDaemonLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	f, _, err := safefile.Open(path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	return f, err
}

// awaitReady reports whether the daemon says that it is ready before its end.
func awaitReady(notices *net.UnixConn) bool {
	text := make([]byte, 4096)
	for {
		n, err := notices.Read(text)
		if err != nil {
			return false
		}
		if strings.HasPrefix(string(text[:n]), "READY=1") {
			return true
		}
	}
}

func withoutDetach(args []string) (out []string) {
	for _, a := range args {
		if a != "--detach" && !strings.HasPrefix(a, "--detach=") {
			out = append(out, a)
		}
	}
	return out
}
