package pluginrun

import (
	"context"
	"errors"
	"slices"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// protocolLink is the [link] to a plugin's binary, over go-plugin.
type protocolLink struct {
	run    *instance
	proc   *process
	cfg    Config
	client *goplugin.Client // nil: the plugin is a [Running] one
	conn   *grpc.ClientConn
	wire   *wire.Client
	stream *wire.Stream     // nil: calls are unary
	about  wire.Description // as it was when the run started
}

// prepareBinary makes the process of a run of a plugin's binary, and the link to it. Nothing
// is started yet.
func prepareBinary(c plugin.Candidate) func(context.Context, Config, *instance) error {
	return func(ctx context.Context, cfg Config, in *instance) (err error) {
		if err := cfg.locateSockets(); err != nil {
			return err
		}
		copied, err := cfg.binary(ctx, c)
		if err != nil {
			return err
		}
		in.proc = newProcess(c, cfg)
		in.proc.cmd.copied = copied
		in.link = &protocolLink{run: in, proc: in.proc, cfg: cfg, client: goplugin.NewClient(clientConfig(in.proc, cfg))}
		return nil
	}
}

// connect implements [link]: it shakes hands, asks the plugin for its description and
// configures it.
func (l *protocolLink) connect(ctx context.Context) (wire.Description, error) {
	protocol, err := l.client.Client()
	if err != nil {
		return l.about, err
	}
	grpcClient, ok := protocol.(*goplugin.GRPCClient)
	if !ok {
		return l.about, errors.New("plugin does not serve gRPC")
	}
	l.conn = grpcClient.Conn
	if l.wire, err = wire.Dispense(protocol); err != nil {
		return l.about, err
	}
	if l.about, err = l.describe(ctx); err != nil {
		return l.about, err
	}
	if err := l.proc.cmd.copied.described(l.proc.name, l.about); err != nil {
		return l.about, err
	}
	if err := egress.CheckNeeds(l.about.Needs); err != nil {
		return l.about, err
	}
	if err := l.cfg.checkNeeds(l.about); err != nil {
		return l.about, err
	}
	if l.cfg.Trace != nil {
		l.cfg.Trace.Knows(modulesOf(l.proc.cmd.path, l.about.Files))
	}
	return l.about, l.configure(ctx)
}

// configure hands the plugin, which has described itself, its configuration, and makes the carrier.
func (l *protocolLink) configure(ctx context.Context) error {
	if err := checkConfiguration(ctx, l.about.ConfigSchema, l.cfg.Config); err != nil {
		return err
	}
	handed := wire.Config{Root: l.cfg.Root, JSON: l.cfg.Config}
	if l.cfg.Protected != nil {
		handed.Protected = l.cfg.Protected()
	}
	if err := l.wire.Configure(ctx, handed); err != nil {
		if tool.CodeOf(err) == tool.CodeToolFailed {
			err = &ConfigurationError{error: err}
		}
		return err
	}
	return l.openStream(ctx, l.cfg.Carrier)
}

// describe implements [link].
func (l *protocolLink) describe(ctx context.Context) (wire.Description, error) {
	return l.wire.Describe(ctx, l.cfg.HostVersion)
}

// openStream prepares the carrier that was chosen, or else the next that the plugin
// offers. It closes a socket that the plugin does not know.
func (l *protocolLink) openStream(ctx context.Context, chosen plugin.Carrier) (err error) {
	hooks := wire.StreamHooks{
		Pace: l.proc.output.pace, Changed: func() { l.run.refresh.onChanged(l.run) },
		Failed: l.onStreamFailed, Log: l.proc.output.logRecord, Asks: l.offers(wire.FeatureAsk),
	}
	if l.proc.socket != nil && !l.offers(wire.FeatureSocket) {
		_ = l.proc.socket.Close()
		l.proc.socket = nil
	}
	switch {
	case l.proc.socket != nil:
		l.stream = wire.NewStream(wire.NewSocket(l.proc.socket), hooks)
	case chosen != plugin.Unary && l.offers(wire.FeatureStream):
		l.stream, err = l.wire.OpenStream(ctx, hooks)
	default:
		l.proc.grpc.boundUnary()
	}
	if err == nil && l.offers(wire.FeatureStderr) {
		close(l.proc.detached) // and with it the stream of what the plugin prints
	}
	return err
}

func (l *protocolLink) offers(feature string) bool { return slices.Contains(l.about.Features, feature) }

// carrier implements [link].
func (l *protocolLink) carrier() plugin.Carrier {
	switch {
	case l.stream == nil:
		return plugin.Unary
	case l.proc.socket != nil:
		return plugin.Socket
	}
	return plugin.Stream
}

// execute implements [link].
func (l *protocolLink) execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	if l.stream != nil {
		return l.stream.Execute(ctx, call)
	}
	return l.wire.Execute(ctx, call)
}

// preview implements [link]. Previews are few and a person reads them, so they have no
// carrier of their own.
func (l *protocolLink) preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	if !l.offers(wire.FeaturePreview) {
		return tool.Result{}, tool.NoPreview(call.Name)
	}
	return l.wire.Preview(ctx, call)
}

// onStreamFailed ends a process that broke the protocol, and any other whose stream has
// failed and that does not end by itself.
func (l *protocolLink) onStreamFailed(err error) {
	if !errors.Is(err, wire.ErrProtocol) {
		l.run.awaitExit()
		return
	}
	l.proc.log.Error("the plugin is ended: " + sanitize.Line(err.Error(), 1000))
	l.proc.refuse(errors.New(tool.AsError(err).Message))
	l.proc.kill()
}

// check implements [link] by the health service. A plugin without the service is well.
func (l *protocolLink) check() (serving, answered bool) {
	request := &healthv1.HealthCheckRequest{Service: goplugin.GRPCServiceName}
	reply, err := healthv1.NewHealthClient(l.conn).Check(context.Background(), request)
	switch status.Code(err) {
	case codes.OK:
		return reply.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING, true
	case codes.DeadlineExceeded, codes.Unavailable, codes.Canceled:
		return false, false
	}
	return true, true
}

// endSession implements [link].
func (l *protocolLink) endSession(session string) {
	if l.stream != nil && l.offers(wire.FeatureSessionEnd) {
		l.stream.EndSession(session)
	}
}

// saysProblems implements [link].
func (l *protocolLink) saysProblems() bool { return l.offers(wire.FeatureHealth) }

// problem implements [link]. A plugin that cannot be asked shows otherwise how it is.
func (l *protocolLink) problem(ctx context.Context) string {
	problem, err := l.wire.Health(ctx)
	switch {
	case tool.CodeOf(err) == tool.CodeDeadlineExceeded:
		return "its health check does not answer"
	case err != nil:
		return ""
	}
	return sanitize.Line(problem, 500)
}

// isPrivate implements [link].
func (l *protocolLink) isPrivate() bool { return l.proc.grpc.isPrivate() }

// shutdown implements [link].
func (l *protocolLink) shutdown(ctx context.Context) {
	if l.offers(wire.FeatureShutdown) && !l.proc.hasEnded() {
		l.finish(ctx)
	}
	if wire.Shutdown(ctx, l.conn) == nil {
		waitFor(l.proc.exited, shutdownGrace)
	}
}

// finish lets the plugin finish what it does for itself.
func (l *protocolLink) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	problem, err := l.wire.Shutdown(ctx)
	if err != nil {
		problem = tool.AsError(err).Message
	}
	if problem != "" && !l.proc.hasEnded() {
		l.proc.log.Warn("the plugin did not shut down in good order: " + sanitize.Line(problem, 1000))
	}
}

// finishTime is how long a plugin may take to finish what it does for itself.
const finishTime = 5 * time.Second

// shutdownGrace is how long a plugin that said it will end may take to.
const shutdownGrace = 2 * time.Second

// release implements [link]: it closes the connection, removes the socket directory, and
// ends go-plugin's goroutines.
func (l *protocolLink) release() {
	if l.stream != nil {
		_ = l.stream.Close()
	} else if l.proc.socket != nil {
		_ = l.proc.socket.Close()
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.proc.kill()
	if l.client != nil {
		l.client.Kill()
	}
	l.proc.grpc.close()
}
