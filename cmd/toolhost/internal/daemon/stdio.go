package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/mcpstdio"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/mcpserver"
)

// ServeStdio serves one MCP client on standard input and output, until the client leaves or ctx ends: as a
// door to the daemon, or with a host of this process and no socket. Such a host follows the plugin
// directories and the configuration as a daemon does.
//
// # Errors
//
// [*exit.Error] if the settings cannot be used, or the client sends what is not MCP.
func ServeStdio(ctx context.Context, s *session.Session, o Options) error {
	if done, err := throughDoor(ctx, s, o); done {
		return err
	}
	d, err := open(ctx, s, o)
	if err != nil {
		return err
	}
	d.mcp.askers = s.Askers(mcpserver.ClientApprover())
	d.mcp.awaited.Store(true)
	return errors.Join(d.serveStdio(ctx), d.close(ctx))
}

func (d *daemon) serveStdio(ctx context.Context) error {
	server, err := d.mcp.open()
	if err != nil {
		return err
	}
	tasks := newTasks()
	defer tasks.end()
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	if err := d.serveMetrics(tasks); err != nil {
		return err
	}
	transport := &mcpstdio.Transport{
		In: os.Stdin, Out: os.Stdout, Whole: mcpstdio.IsFile(os.Stdin), Stop: ctx.Done(), Started: d.mcp.started, Drain: d.options.Drain,
	}
	loading, left := context.WithCancel(ctx) // nothing is started for a client that has left
	defer left()
	served := make(chan error, 1)
	go func() {
		err := server.Run(context.WithoutCancel(ctx), transport)
		left()
		served <- err
	}()
	if err := d.load(loading); err != nil && loading.Err() == nil {
		return err
	}
	useProcessors(1) // from now on, most of the time one call is in progress
	changed := make(chan struct{}, 1)
	defer d.watchConfig(changed)()
	defer d.watchPlugins()()
	d.noteProtected()
	over, err := d.wait(ctx, hangUp, changed, served)
	if !over { // requests in progress have their time
		err = <-served
	}
	return stdioError(err)
}

// stdioError returns the error of a client, nil if it has left in good order.
func stdioError(err error) error {
	left := []error{io.EOF, net.ErrClosed, syscall.EPIPE, context.Canceled}
	if err == nil || slices.ContainsFunc(left, func(e error) bool { return errors.Is(err, e) }) {
		return nil
	}
	return exit.With(exit.Failed, errors.New("the MCP client on standard input sent what is not a message, or does not read: "+err.Error()))
}
