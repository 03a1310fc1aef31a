package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/wire"
)

// isDebugged reports whether the author runs the plugin, perhaps in a debugger.
func isDebugged() bool {
	return os.Getenv(wire.CookieKey) != wire.CookieValue && os.Getenv(wire.DebugVariable) == "1"
}

// debug serves hosts that reattach, which come and go, until the process is interrupted. The
// directory of the socket keeps other users out. If the process is killed, as debuggers do, the next
// host removes the directory.
func (p *Plugin) debug(server *wire.Server) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", confine.DirPrefix+"debug-") // for this user alone
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := confine.Claim(dir); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(dir, "s"))
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // which removes the socket
	if err := os.Chmod(l.Addr().String(), 0o600); err != nil {
		return err
	}
	at, err := json.Marshal(map[string]wire.Reattach{p.name(): {
		Protocol: "grpc", ProtocolVersion: wire.ProtocolVersion, Pid: os.Getpid(),
		Addr: wire.ReattachAddr{Network: "unix", String: l.Addr().String()},
	}})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(os.Stdout, "%s='%s'\n", wire.ReattachVariable, strings.ReplaceAll(string(at), "'", `'\''`)); err != nil {
		return err
	}
	return server.ServeOn(ctx, l)
}
