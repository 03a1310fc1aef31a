package pluginrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// KindMCP is the kind of an MCP server; see [plugin.Status].
const KindMCP = "mcp"

// ServerDigest returns the SHA-256 of the identity of a server, in lower-case hexadecimal digits.
func ServerDigest(s plugin.Server) string {
	sum := sha256.Sum256([]byte(s.Identity))
	return hex.EncodeToString(sum[:])
}

// commandOf is the program that the server is, if it is one.
func commandOf(s plugin.Server) *plugin.Command {
	if s.Connector == nil {
		return nil
	}
	return s.Connector.Command()
}

// CheckServer reports what is missing of a server; nil: nothing is.
//
// # Errors
//
// [tool.CodeInvalidDefinition]; [tool.CodeUnavailable] if a [Running] plugin may not be connected to.
func CheckServer(s plugin.Server) error {
	var why string
	switch {
	case !ident.Valid(s.Name):
		why = fmt.Sprintf("%.70q is not the name of a server: it has letters, digits and _.-, at most 64", s.Name)
	case s.Connector == nil:
		why = fmt.Sprintf("server %s has no connector", s.Name)
	case s.Identity == "":
		why = fmt.Sprintf("server %s has no identity", s.Name)
	}
	if running, ok := s.Connector.(*Running); ok && why == "" {
		if err := running.check(); err != nil {
			return unavailable(s.Name, err, err.Error(), "")
		}
	}
	if why == "" {
		return nil
	}
	return tool.Errorf(tool.CodeInvalidDefinition, "%s", why).
		Of("", s.Name).At(callstage.Register).Try("see plugin.Server for what a server needs")
}

// NewServer makes a provider of a server. Its runs are connections, each with a process of the
// server's program if it has one, and are started, supervised and ended as those of a plugin's
// binary are. Nothing is started yet. The settings are those of the Config.
func NewServer(s plugin.Server, cfg Config) *Plugin {
	c := plugin.Candidate{Name: s.Name, Path: s.Path}
	if command := commandOf(s); s.Path == "" && command != nil {
		c.Path = command.Path
	}
	cfg.Spare = 0 // a server may be one of its kind
	p := newPlugin(c, cfg, prepareServer(s))
	if commandOf(s) != nil {
		p.command = func(cfg Config) *command { return &newServerProcess(s, cfg).cmd }
	}
	if p.kind = s.Kind; p.kind == "" {
		p.kind = KindMCP
	}
	return p
}

// prepareServer makes the process of a run of a server, or what stands for it if there is no
// program, and the link to it. Nothing is started yet.
func prepareServer(s plugin.Server) func(context.Context, Config, *instance) error {
	return func(_ context.Context, cfg Config, in *instance) error {
		pins, err := cfg.pins(s.Name)
		if err == nil && pins != nil {
			err = notPinned(pins.Binary(s.Name, ServerDigest(s)))
		}
		if err == nil && commandOf(s) != nil { // which does not see the sockets of plugins
			err = cfg.locateSockets()
		}
		if err != nil {
			return err
		}
		in.proc = newServerProcess(s, cfg)
		if running, ok := s.Connector.(*Running); ok {
			in.link = &runningLink{protocolLink{run: in, proc: in.proc, cfg: cfg}, running}
			return nil
		}
		in.link = &serverLink{run: in, proc: in.proc, cfg: cfg, server: s}
		return nil
	}
}

func newServerProcess(s plugin.Server, cfg Config) *process {
	command := commandOf(s)
	if command == nil {
		p := newProcess(plugin.Candidate{Name: s.Name}, cfg)
		p.lost = make(chan string, 1)
		go p.ownConnection()
		return p
	}
	cfg.Args, cfg.Env = command.Args, slices.Concat(cfg.Env, command.Env)
	if filepath.IsAbs(command.Dir) {
		cfg.Root = command.Dir
	} else {
		cfg.Root = filepath.Join(cfg.Root, command.Dir)
	}
	p := newProcess(plugin.Candidate{Name: s.Name, Path: command.Path}, cfg)
	p.cmd.find, p.cmd.inheritSocket = true, false
	p.stdio = newStdio(p.output.limit)
	return p
}

// serverLink is the [link] to a server that a [plugin.Connector] reaches.
type serverLink struct {
	run    *instance
	proc   *process
	cfg    Config
	server plugin.Server
	conn   plugin.Connection // nil: it was not reached
	closed sync.Once
}

// connect implements [link].
func (l *serverLink) connect(ctx context.Context) (about wire.Description, err error) {
	var bytes io.ReadWriteCloser
	if l.proc.stdio != nil {
		if err := l.proc.start(ctx, nil); err != nil {
			return about, err
		}
		bytes = l.proc.stdio
	}
	conn, err := l.server.Connector.Connect(ctx, bytes, plugin.Events{
		SDK: l.cfg.sdk, Changed: func() { l.run.refresh.onChanged(l.run) }, Renew: l.renew,
		Log: l.log, Fault: l.fault, Offers: l.cfg.Offers,
	})
	if err != nil {
		if l.proc.stdio != nil && isClosed(l.proc.stdio.drained) {
			waitFor(l.proc.exited, exitGrace)
		}
		return about, err
	}
	l.conn = conn
	go l.watch()
	return l.describe(ctx)
}

func (l *serverLink) renew(sdk string) {
	if l.cfg.Learned != nil {
		l.cfg.Learned(sdk)
	}
	l.cfg.renew(l.run)
}

// describe implements [link]. What a server says of itself is checked each time: its program
// is not pinned, and may say something else tomorrow.
func (l *serverLink) describe(context.Context) (wire.Description, error) {
	said := l.conn.Description()
	about := wire.Description{Name: l.server.Name, Version: said.Version, SDK: said.SDK, Tools: said.Tools}
	if said.KeepsSessions {
		about.Features = []string{wire.FeatureSessions}
	}
	pins, err := l.cfg.pins(l.server.Name)
	if err == nil && pins != nil {
		err = notPinned(pins.Described(l.server.Name, ServerDigest(l.server), about))
	}
	if err != nil { // it takes no more calls, and its next start says the same
		l.proc.refuse(err)
		l.proc.kill()
	}
	return about, err
}

// watch ends the run when the connection has ended.
func (l *serverLink) watch() {
	select {
	case <-l.conn.Done():
	case <-l.proc.exited:
		return
	}
	how, err := "the connection was lost", l.conn.Err()
	if err != nil {
		how += ": " + sanitize.Line(err.Error(), 1000)
	}
	switch {
	case l.proc.lost != nil:
		l.proc.lose(how)
	case l.run.calls.Draining():
	default:
		if err != nil && !errors.Is(err, io.EOF) { // else the process is about to end, and says why
			l.proc.refuse(errors.New(how))
		}
		l.run.awaitExit()
	}
}

func (l *serverLink) log(level slog.Level, line string) {
	names := map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}
	l.proc.output.logRecord(names[min(max(level, slog.LevelDebug), slog.LevelError)/4*4], line, "", "")
}

func (l *serverLink) fault(err error) {
	l.run.fault.Store(&plugin.Fault{Text: sanitize.Line(err.Error(), 1000), Time: time.Now()})
	l.proc.log.Warn("the server's answer cannot be used as it is", "error", sanitize.Line(err.Error(), 1000))
}

// execute implements [link].
func (l *serverLink) execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	res, err := l.conn.Execute(ctx, call)
	if err == nil || ctx.Err() != nil || !l.isLost(err) {
		return res, err
	}
	e := *tool.AsError(err)
	e.Err = fmt.Errorf("%w: %w", wire.ErrDisconnected, err)
	return res, &e
}

// isLost reports whether a call failed because the connection is gone. That may show in the
// call first.
func (l *serverLink) isLost(err error) bool {
	if code := tool.CodeOf(err); l.proc.stdio == nil || code != tool.CodeUnavailable && code != tool.CodeCrashed {
		return isClosed(l.conn.Done())
	}
	waitFor(l.conn.Done(), exitGrace)
	return isClosed(l.conn.Done()) || l.proc.hasEnded()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// preview implements [link].
func (l *serverLink) preview(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{}, tool.NoPreview(call.Name)
}

// What calls to servers travel on.
const (
	Stdio  plugin.Carrier = "stdio"  // standard input and output of the server's process
	Remote plugin.Carrier = "remote" // a connection to a server that the host does not run
)

// carrier implements [link].
func (l *serverLink) carrier() plugin.Carrier {
	if l.proc.stdio != nil {
		return Stdio
	}
	return Remote
}

// check implements [link]. A server that cannot be asked is well.
func (l *serverLink) check() (serving, answered bool) {
	p, ok := l.conn.(Pinger)
	if !ok {
		return true, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), internalTimeout)
	defer cancel()
	err := p.Ping(ctx)
	return true, err == nil || ctx.Err() == nil
}

// endSession implements [link]. MCP has no word for it.
func (l *serverLink) endSession(string) {}

// problem implements [link].
func (l *serverLink) problem(context.Context) string { return "" }

// saysProblems implements [link].
func (l *serverLink) saysProblems() bool { return false }

// isPrivate implements [link].
func (l *serverLink) isPrivate() bool { return true }

// shutdown implements [link]. A program is asked to end as MCP has it: its standard input is
// closed, and then it gets SIGTERM.
func (l *serverLink) shutdown(ctx context.Context) {
	l.close(ctx)
	if l.proc.stdio == nil || waitFor(l.proc.exited, inputGrace) {
		return
	}
	l.proc.terminate()
	waitFor(l.proc.exited, shutdownGrace)
}

// inputGrace is how long a server may take to end when its standard input has.
const inputGrace = time.Second

// close closes the connection, and the standard input if the connection has not.
func (l *serverLink) close(ctx context.Context) {
	l.closed.Do(func() {
		if l.conn != nil {
			ctx, cancel := context.WithTimeout(ctx, internalTimeout)
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = l.conn.Close(ctx)
			}()
			select {
			case <-done:
			case <-ctx.Done():
			}
		}
		if l.proc.stdio != nil {
			_ = l.proc.stdio.Close()
		}
	})
}

// release implements [link].
func (l *serverLink) release() {
	l.proc.kill()
	l.close(context.Background())
}
