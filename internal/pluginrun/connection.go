package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

// connection is the one gRPC connection of a run. If the plugin offers that, it is the socket
// pair of which the plugin inherited an end, where no other process can get in. Otherwise
// the plugin listens on a socket that has a path, which every process of the same user can
// connect to: it is dialled once, if the process that was started listens there, and the path
// is removed at once. Neither is ever made again: another plugin might answer then.
type connection struct {
	ours   net.Conn // the host's end of the pair; nil: there is none
	pace   func(bytes int)
	refuse func(reason error)

	// dir is where the plugin's socket must be. It was opened before the plugin ran, so
	// what the plugin puts in the directory's place later is not looked into.
	dir  *os.Root
	path string // of dir

	mu      sync.Mutex
	conn    net.Conn // connected and not handed out yet
	private bool     // whether it is the pair
	guarded *guardedConn
}

// openDir opens the directory where the plugin's socket must be, before the plugin runs.
func (c *connection) openDir(path string) (err error) {
	c.path = path
	c.dir, err = os.OpenRoot(path)
	return err
}

// dial gives gRPC the connection, the first time.
func (c *connection) dial(context.Context, string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil, errOneConnection
	}
	c.guarded = newGuardedConn(c.conn, c.pace)
	c.conn = nil
	return c.guarded, nil
}

// boundUnary bounds the results of unary calls together, for a plugin whose calls are
// unary. No other stream may be opened from then on.
func (c *connection) boundUnary() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.guarded != nil {
		c.guarded.bound()
	}
}

var errOneConnection = errors.New("the host connects to a plugin once, and that connection is gone")

// isPrivate reports whether nothing but the host can reach the plugin.
func (c *connection) isPrivate() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.private
}

// close gives back what was not handed out.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range []net.Conn{c.ours, c.conn} {
		if conn != nil {
			_ = conn.Close()
		}
	}
	c.ours, c.conn = nil, nil
	if c.dir != nil {
		_ = c.dir.Close()
	}
}

// connect makes the connection once the plugin, whose process is started, has announced its
// address. It returns the network and address that go-plugin is to believe in.
func (c *connection) connect(network, address string, started func() int) (string, string, error) {
	defer func() { _ = c.dir.Close() }()
	greeted, err := c.greeted()
	switch {
	case err != nil:
		c.refuse(err)
		return "", "", err
	case greeted:
		c.removeSocket(filepath.Clean(address))
		c.use(c.ours, true)
		return "unix", "inherited", nil // where nothing is dialled
	}
	if address, err = c.checkAddress(network, address); err != nil {
		c.refuse(err)
		return "", "", err
	}
	conn, err := c.dialOnce(network, address, started)
	if err != nil {
		return "", "", err
	}
	c.removeSocket(address)
	c.use(conn, false)
	return network, address, nil
}

// use keeps a connection until gRPC asks for it.
func (c *connection) use(conn net.Conn, private bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ours != nil && !private { // the plugin does not know it
		_ = c.ours.Close()
	}
	c.ours, c.conn, c.private = nil, conn, private
}

// greeted reports whether the plugin serves gRPC on its end of the pair. It has said
// so before its handshake, so nothing is waited for.
//
// # Errors
//
// For what is not a greeting.
func (c *connection) greeted() (bool, error) {
	if c.ours == nil {
		return false, nil
	}
	said := make([]byte, len(wire.Greeting))
	said = said[:readNow(c.ours, said)]
	if len(said) == 0 || string(said) == wire.Greeting {
		return len(said) > 0, nil
	}
	return false, fmt.Errorf("the plugin wrote %s to the descriptor named by %s before its handshake, which is not a greeting",
		sanitize.Quote(string(said), 60), wire.GRPCVariable)
}

// removeSocket removes the plugin's socket, so that nothing else connects to it.
func (c *connection) removeSocket(address string) {
	if filepath.Dir(address) != filepath.Clean(c.path) {
		return
	}
	name := filepath.Base(address)
	if info, err := c.dir.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = c.dir.Remove(name) // or the directory is removed, when the run has ended
	}
}

// checkAddress decides whether the address that the plugin announced may be dialled: only a
// socket in the directory that was made for this process. It returns the path that was
// looked at: with a link in the directory, link/../name may be anywhere.
func (c *connection) checkAddress(network, address string) (string, error) {
	if address != "" {
		address = filepath.Clean(address)
	}
	shown := sanitize.Quote(address, 120)
	if network != "unix" {
		return "", fmt.Errorf("the plugin announced the address %s on network %s; only a unix socket in the directory named by "+
			"PLUGIN_UNIX_SOCKET_DIR is dialled", shown, sanitize.Quote(network, 20))
	}
	if filepath.Dir(address) != filepath.Clean(c.path) {
		return "", fmt.Errorf("the plugin announced the socket %s, which is not in the directory named by PLUGIN_UNIX_SOCKET_DIR", shown)
	}
	info, err := c.dir.Lstat(filepath.Base(address))
	if err != nil {
		return "", fmt.Errorf("the plugin announced the socket %s, which cannot be found: %w", shown, errors.Unwrap(err))
	}
	if info.Mode().Type() != fs.ModeSocket {
		return "", fmt.Errorf("the plugin announced the socket %s, which is not a socket", shown)
	}
	return address, nil
}

// dialOnce connects to the address, and checks which process listens there: between the
// check of the path and the connection the path may have become another plugin's socket,
// by an exchange, a link or a directory in its place.
func (c *connection) dialOnce(network, address string, started func() int) (net.Conn, error) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(context.Background(), internalTimeout)
	defer cancel()
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("the plugin's socket cannot be connected to: %w", err)
	}
	pid := started()
	if pid == 0 {
		_ = conn.Close()
		return nil, errors.New("the process ended before the host had connected to it")
	}
	if err := checkPeer(conn, pid); err != nil {
		_ = conn.Close()
		c.refuse(err)
		return nil, err
	}
	return conn, nil
}
