// Package daemon runs plugins for other commands, until it is told to end. Begin with [Serve].
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/console"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/metrics"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// DefaultDrain is how long calls in progress have at the end.
const DefaultDrain = 30 * time.Second

// Options are what the operator says on the command line.
type Options struct {
	Grants []tool.Capability // that callers may have
	Yes    bool              // callers may approve dangerous calls with --yes
	Drain  time.Duration     // for the calls in progress at the end
	Audit  string            // the flag: a file, off, or empty
	// Caller is the caller of the configuration that the client of [ServeStdio] is.
	Caller string
	// HTTP serves MCP clients over HTTP, on Listen; empty: the address of the configuration.
	HTTP   bool
	Listen string
	// Fleet is what the daemon does in a fleet.
	Fleet Fleet
	// Host are options of the host, after those of the settings.
	Host []host.Option
	// Serving is called with the host when the daemon serves. Nil: no one is.
	Serving func(*host.Host)
}

// Serve runs a daemon until ctx ends, and then shuts it down in good order.
//
// # Errors
//
// [*exit.Error] if the socket is taken or the settings cannot be used; [tool.CodeUnavailable] if
// the socket fails.
func Serve(ctx context.Context, s *session.Session, o Options) error {
	claim, path, err := takeSocket(s)
	if err != nil {
		return err
	}
	front, err := openFront(s, o)
	if err != nil {
		return errors.Join(err, claim.Release())
	}
	// The socket is given up last, when nothing of this daemon is left.
	d, err := open(ctx, s, o)
	if err == nil {
		err = errors.Join(d.serve(ctx, claim, path, front), d.close(ctx))
	}
	front.abort()
	return errors.Join(err, claim.Release())
}

// takeSocket takes the socket, before anything starts: it is what a second daemon fails at.
func takeSocket(s *session.Session) (*control.Claim, string, error) {
	t := s.Settings()
	path, err := t.SocketPath()
	if err == nil {
		err = t.CheckPlaces("")
	}
	if err != nil {
		return nil, "", err
	}
	if path == "" || s.Flags.NoDaemon {
		return nil, "", exit.Usage("a daemon needs a socket, and there is to be none",
			"leave out --no-daemon, and name a socket with --socket or "+session.SocketVariable)
	}
	root, err := paths.Canonical(t.Root)
	if err != nil {
		return nil, "", exit.With(exit.BadUsage, err)
	}
	claim, err := control.Take(path, control.Holder{PID: os.Getpid(), Since: time.Now(), Root: root})
	return claim, path, socketError(err)
}

// socketError returns the error of a socket with the exit status of a command: no tool is
// involved.
func socketError(err error) error {
	return exit.As(exit.Failed, exit.As(exit.BadUsage, err, tool.CodeInvalidArguments), tool.CodeAlreadyExists)
}

// endTime is how long the end may take in addition to the calls in progress: a plugin may take
// some seconds to end.
const endTime = 15 * time.Second

func (d *daemon) serve(ctx context.Context, claim *control.Claim, path string, front *front) error {
	defer front.abort()
	if err := front.serve(d); err != nil {
		return err
	}
	ln, err := claim.Listen(control.MaxConnections, d.admits, func(err error) { d.log.Warn("a connection was refused", "reason", err) })
	if err != nil {
		return socketError(err)
	}
	d.claim = claim
	d.share()
	tasks := newTasks()
	defer tasks.end()
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	defer d.closeFleet()
	defer d.detached.end()
	server := control.NewServer(d, d.log)
	server.Door, server.Ready = d.mcp.serveDoor, d.ready
	page := console.New(console.Options{Serve: server.ServePerson, Record: d.Record, Log: d.log.Named("console")})
	server.Console = page
	defer page.End()
	d.server.Store(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	tasks.add(func(ctx context.Context) {
		claim.Keep(ctx, ln, func() {
			d.share()
			d.log.Warn("the socket was removed, and made again", "path", path)
		})
	})
	drain, over := d.options.Drain, false
	failed := d.start(ctx, tasks)
	switch {
	case ctx.Err() != nil || closed(d.stop): // the daemon is no longer wanted
		failed = nil
	case failed != nil: // there is no caller to wait for
		drain = 0
	default:
		changed := make(chan struct{}, 1)
		defer d.watchConfig(changed)()
		defer d.watchPlugins()()
		d.sayReady(path, front)
		tasks.add(func(ctx context.Context) { watchdog(ctx, func() { d.State() }) })
		if over, err = d.wait(ctx, hangUp, changed, served); over {
			failed, drain = tool.Errorf(tool.CodeUnavailable, "the socket failed: %w", err), 0
		}
	}
	notify(fmt.Sprintf("STOPPING=1\nEXTEND_TIMEOUT_USEC=%d", (drain + endTime).Microseconds()))
	if failed == nil {
		d.session.Say(fmt.Sprintf("ending: calls in progress may take %v", drain))
	}
	d.queue.Close() // no one is waited for who may not come
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	tasks.add(func(context.Context) { d.mcp.leave() })
	tasks.add(func(context.Context) { front.shutdown(bound) })
	tasks.add(func(context.Context) { d.leaveFleet(bound) })
	server.Shutdown(bound)
	d.detached.end()
	tasks.end()
	d.sessions.close()
	if !over {
		err = <-served
	}
	return cmp.Or(failed, err)
}

// start starts the plugins, which may take long, joins the fleet and serves the metrics. A command may end it.
func (d *daemon) start(ctx context.Context, t *tasks) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.add(func(context.Context) {
		select {
		case <-d.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	if err := d.load(ctx); err != nil {
		return err
	}
	if err := d.joinFleet(ctx); err != nil {
		return err
	}
	return d.serveMetrics(t)
}

func (d *daemon) sayReady(path string, front *front) {
	close(d.ready)
	d.noteProtected()
	h := d.Host
	d.session.Say(fmt.Sprintf("ready: %d tools of %d plugins on %s (pid %d)", h.Len(), len(h.Plugins()), path, os.Getpid()))
	front.say(d.session)
	notify("READY=1")
	if d.options.Serving != nil {
		d.options.Serving(h)
	}
}

// serveMetrics serves the metrics on a loopback address, if that is asked for.
func (d *daemon) serveMetrics(t *tasks) error {
	of := d.current.Load().settings.Config.Metrics
	if of.Address == "" {
		return nil
	}
	ln, err := metrics.Listen(of.Address)
	if err != nil {
		return err
	}
	d.session.Notef("metrics on http://%s/metrics", ln.Addr())
	t.add(func(ctx context.Context) {
		if err := d.numbers.Serve(ctx, ln, of.Profiles); err != nil {
			d.log.Error("the metrics are not served any more", "error", err)
		}
	})
	return nil
}

// wait waits for the end, and reloads when it is told to or when the configuration file has
// changed. If what is served has ended by itself, it is over, with the error of that.
func (d *daemon) wait(ctx context.Context, hangUp <-chan os.Signal, changed <-chan struct{}, served <-chan error) (over bool, err error) {
	if d.mcp.server.Load() == nil {
		collectMore()
	}
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-d.stop:
			return false, nil
		case err := <-served:
			return true, err
		case <-hangUp:
			d.Record(audit.Record{Action: "reload", Via: "signal"}, d.reload(ctx, session.ByOperator))
		case <-changed:
			d.Record(audit.Record{Action: "reload", Via: "change"}, d.reload(ctx, session.ByChange))
		}
	}
}

// watchPlugins keeps the plugins in line with the directories until stop is called. Of the
// default directories, it watches those that exist at the start.
func (d *daemon) watchPlugins() (stop func()) {
	dirs := d.current.Load().settings.Dirs.Watched()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Host.Follow(ctx, dirs...); err != nil {
			d.log.Warn("changes in the plugin directories are noticed late", "error", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// noteProtected prints a line about the files in the workspace that tools cannot change.
func (d *daemon) noteProtected() {
	inside := session.ProtectedInside(d.current.Load().settings.Root, d.Host.Protected())
	if len(inside) > 0 {
		d.session.Notef("protected in the workspace: %s: tools cannot change them, and changes there wait for toolhost reload",
			strings.Join(inside, ", "))
	}
}

// tasks are goroutines in addition to that of the socket.
type tasks struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func newTasks() *tasks {
	t := &tasks{}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// add runs f in a goroutine. Its context ends with end, which waits for it.
func (t *tasks) add(f func(context.Context)) { t.all.Go(func() { f(t.ctx) }) }

func (t *tasks) end() {
	t.cancel()
	t.all.Wait()
}
