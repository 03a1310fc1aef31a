package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// goRunner shows a process to go-plugin's client.
type goRunner struct {
	*process
	env []string // as go-plugin wants it
}

var _ runner.Runner = (*goRunner)(nil)

// Start implements [runner.Runner].
func (r *goRunner) Start(ctx context.Context) error { return r.start(ctx, r.env) }

// Diagnose implements [runner.Runner]. What is wrong is told by startError.
func (r *goRunner) Diagnose(context.Context) string { return "" }

// Stdout is the handshake line and then the end, so that go-plugin keeps no
// goroutine reading.
func (r *goRunner) Stdout() io.ReadCloser { return r.forGo }

// Stderr is empty: go-plugin's own log parser panics on {"@message":42}.
func (r *goRunner) Stderr() io.ReadCloser { return emptyReader{} }

// Name implements [runner.Runner].
func (r *goRunner) Name() string { return r.name }

// ID implements [runner.Runner].
func (r *goRunner) ID() string { return r.id() }

// Wait implements [runner.Runner]. It returns early where go-plugin's client is not
// needed any more, which ends three of its goroutines.
func (r *goRunner) Wait(ctx context.Context) error {
	select {
	case <-r.alone:
		return nil
	case <-r.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill implements [runner.Runner].
func (r *goRunner) Kill(ctx context.Context) error {
	r.kill()
	select {
	case <-r.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PluginToHost decides whether the address that the plugin announced is dialled:
// only a socket in the directory that was made for this process, and only if it
// is one. What is dialled is the path that was looked at: with a link in the directory,
// link/../name may be anywhere.
func (r *goRunner) PluginToHost(network, address string) (string, string, error) {
	if unixSockets && address != "" {
		address = filepath.Clean(address)
	}
	err := checkAddress(r.socketDir, network, address)
	if err != nil {
		r.refuse(err)
	}
	return network, address, err
}

// HostToPlugin implements [runner.Runner]; both see the same file system.
func (r *goRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

func checkAddress(socketDir, network, address string) error {
	if !unixSockets {
		return nil // go-plugin uses TCP on loopback here; toolhost doctor says so
	}
	shown := sanitize.Quote(address, 120)
	if network != "unix" {
		return fmt.Errorf("it announced the address %s on network %s; only a unix socket in the directory named by "+
			"PLUGIN_UNIX_SOCKET_DIR is dialled", shown, sanitize.Quote(network, 20))
	}
	if filepath.Dir(address) != filepath.Clean(socketDir) {
		return fmt.Errorf("it announced the socket %s, which is not in the directory named by PLUGIN_UNIX_SOCKET_DIR", shown)
	}
	info, err := os.Lstat(address)
	if err != nil {
		return fmt.Errorf("it announced the socket %s, which cannot be found: %w", shown, errors.Unwrap(err))
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("it announced the socket %s, which is no socket", shown)
	}
	return nil
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyReader) Close() error             { return nil }
