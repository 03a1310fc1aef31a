package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// socketVariable names the daemon's socket where no flag does.
const socketVariable = "TOOLHOST_SOCKET"

// noSocket, in place of a path, is for no daemon.
const noSocket = "off"

// socketPath is where a daemon is, or is to be; empty: nowhere.
func (a *app) socketPath() (string, error) {
	path := chosen(a.socket, a.configured().Socket, socketVariable)
	switch path {
	case noSocket:
		return "", nil
	case "":
		return defaultSocket()
	}
	return filepath.Abs(path)
}

// defaultSocket is in the user's directory for such files, which a system with a
// session for each user has, or else beside the audit log.
func defaultSocket() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolhost", "control.sock"), nil
	}
	log, err := audit.DefaultPath()
	if err != nil {
		return "", usage("there is no default place for the daemon's socket: "+err.Error(), "name one with --socket or "+socketVariable)
	}
	return filepath.Join(filepath.Dir(log), "control.sock"), nil
}

// daemon is the running daemon, if there is one that has all in common with this
// command. Which it is, or why it is not, is told on standard error.
func (a *app) daemon(ctx context.Context, named pluginDirs, n needs) (remote, bool) {
	path, err := a.socketPath()
	if err != nil || path == "" || a.noDaemon {
		return remote{}, false
	}
	c, err := control.Dial(ctx, path)
	if errors.Is(err, control.ErrNoDaemon) {
		if a.socket != "" {
			a.notef("no daemon is running on %s: working without one", path)
		}
		return remote{}, false
	}
	if err != nil {
		if ctx.Err() == nil {
			a.notef("working without a daemon: %s", tool.AsError(err).Message)
		}
		return remote{}, false
	}
	s := c.State()
	if why := a.unlike(s, named, n); why != "" {
		a.notef("not using the daemon (pid %d): %s", s.PID, why)
		return remote{}, false
	}
	a.notef("using the daemon (pid %d)", s.PID)
	return remote{c, s}, true
}

// unlike says what keeps this command from using a daemon; empty: nothing.
func (a *app) unlike(s control.State, named pluginDirs, n needs) string {
	switch {
	case s.Draining:
		return "it is ending"
	case n.alone != "":
		return n.alone + " is for a host of this command's own"
	case a.carrierNamed:
		return "--carrier is for a host of this command's own"
	}
	mine, err := a.identity(named)
	if err != nil {
		return err.Error()
	}
	return s.Identity.Difference(mine)
}
