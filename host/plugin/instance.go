package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// instance is one run of a plugin that shook hands and described itself.
type instance struct {
	proc   *process
	client *plugin.Client
	conn   *grpc.ClientConn
	wire   *wire.Client
	stream *wire.Stream     // nil: calls are unary
	about  wire.Description // as it was when the run started
	since  time.Time        // when it was ready
	took   time.Duration    // from fork to description

	calls     inflight
	health    health
	idle      idle
	refresh   refresh
	answered  atomic.Bool            // any call; a run that never did is not taken for one that is well
	fault     *atomic.Pointer[Fault] // of the plugin
	published chan struct{}          // closed when the host knows what this run described

	end *runEnd // nil: it runs; guarded by the supervisor's lock
}

// runEnd is how and when a run ended.
type runEnd struct {
	at      time.Time
	reason  string
	crashed bool
	then    consequence
}

// connect shakes hands, asks the plugin for its description and configures it.
func (in *instance) connect(ctx context.Context, cfg Config) error {
	protocol, err := in.client.Client()
	if err != nil {
		return err
	}
	grpcClient, ok := protocol.(*plugin.GRPCClient)
	if !ok {
		return errors.New("plugin does not serve gRPC")
	}
	in.conn = grpcClient.Conn
	if in.wire, err = wire.Dispense(protocol); err != nil {
		return err
	}
	if in.about, err = in.wire.Describe(ctx, cfg.HostVersion); err != nil {
		return err
	}
	if err := in.proc.cmd.copied.described(in.proc.name, in.about); err != nil {
		return err
	}
	if err := checkConfiguration(ctx, in.about.ConfigSchema, cfg.Config); err != nil {
		return err
	}
	handed := wire.Config{Root: cfg.Root, JSON: cfg.Config}
	if cfg.Protected != nil {
		handed.Protected = cfg.Protected()
	}
	if err := in.wire.Configure(ctx, handed); err != nil {
		return err
	}
	return in.openStream(ctx, cfg.Carrier)
}

// openStream prepares the carrier that was chosen, or else the next that the plugin
// offers.
func (in *instance) openStream(ctx context.Context, chosen Carrier) (err error) {
	hooks := wire.StreamHooks{
		Pace: in.proc.output.pace, Changed: func() { in.refresh.onChanged(in) },
		Failed: in.onStreamFailed, Log: in.proc.output.logRecord,
	}
	switch {
	case in.proc.socket != nil && in.offers(wire.FeatureSocket):
		in.stream = wire.NewStream(wire.NewSocket(in.proc.socket), hooks)
	case chosen != Unary && in.offers(wire.FeatureStream):
		in.stream, err = in.wire.OpenStream(ctx, hooks)
	default:
		in.proc.grpc.boundUnary()
	}
	if err == nil && in.offers(wire.FeatureStderr) {
		close(in.proc.detached) // and with it the stream of what the plugin prints
	}
	return err
}

func (in *instance) offers(feature string) bool { return slices.Contains(in.about.Features, feature) }

// carrier returns what the calls travel on.
func (in *instance) carrier() Carrier {
	switch {
	case in.stream == nil:
		return Unary
	case in.proc.socket != nil && in.offers(wire.FeatureSocket):
		return Socket
	}
	return Stream
}

// execute runs one call in this process.
func (in *instance) execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	var res tool.Result
	var err error
	if in.stream != nil {
		res, err = in.stream.Execute(ctx, call)
	} else {
		res, err = in.wire.Execute(ctx, call)
	}
	return in.classify(ctx, call, res, err)
}

// preview asks what a call would do. Previews are few and a person reads them, so they
// have no carrier of their own.
func (in *instance) preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	if !in.offers(wire.FeaturePreview) {
		return tool.Result{}, tool.NoPreview(call.Name)
	}
	res, err := in.wire.Preview(ctx, call)
	return in.classify(ctx, call, res, err)
}

// classify turns what the wire returned into what the caller sees. If the connection is
// gone it waits for the process to end, so that the error can say how it did.
func (in *instance) classify(ctx context.Context, call tool.Call, res tool.Result, err error) (tool.Result, error) {
	if err == nil {
		in.onAnswer()
		return res, nil
	}
	var e *tool.Error
	if ctx.Err() != nil || !errors.Is(err, wire.ErrDisconnected) || errors.Is(err, wire.ErrProtocol) {
		e = in.callError(err, call)
	} else {
		in.awaitExit()
		select {
		case <-in.proc.exited:
			res, e = tool.Result{}, in.exitError(call, tool.AsError(err).Unsent)
		case <-ctx.Done():
			res, e = tool.Result{}, in.callError(ctx.Err(), call)
		}
	}
	e.Plugin, e.Tool = in.proc.name, call.Name
	return res, e
}

// onAnswer notes that the plugin has answered a call. It writes nothing that is so already.
func (in *instance) onAnswer() {
	if !in.answered.Load() {
		in.answered.Store(true)
	}
	in.health.answered()
}

// callError makes the error of a call fit to be shown. What the host itself found to be
// wrong with the answer is kept as the plugin's last fault, with the end of standard error
// as evidence.
func (in *instance) callError(err error, call tool.Call) *tool.Error {
	e := *tool.AsError(err)
	e.Message, e.Hint = sanitize.Line(e.Message, 4000), sanitize.Line(e.Hint, 1000)
	switch {
	case errors.Is(err, wire.ErrClaimed):
		in.onAnswer()
		return &e
	case e.Unsent, len(call.Arguments) >= wire.MaxMessage: // which no carrier takes
		return &e
	}
	stderr := &in.proc.output.stderr
	switch e.Code {
	case tool.CodeInvalidResult, tool.CodeResourceExhausted:
		waitFor(stderr.begun, evidenceGrace)
	case tool.CodeDeadlineExceeded:
		in.health.suspect(in)
	case tool.CodeUnavailable:
	default:
		return &e
	}
	if e.Detail == "" {
		e.Detail = stderr.String()
	}
	in.fault.Store(&Fault{Text: sanitize.Line(call.Name+": "+e.Message, 1000), Time: time.Now()})
	return &e
}

// evidenceGrace is how long an answer that cannot be used waits for the first line of
// standard error, which comes another way.
const evidenceGrace = 50 * time.Millisecond

// exitError says that the process ended during the call, and whether the host ended it.
// Unsent means that the plugin never saw the call.
func (in *instance) exitError(call tool.Call, unsent bool) *tool.Error {
	if in.calls.draining.Load() {
		return &tool.Error{
			Code: tool.CodeUnavailable, Stage: tool.StageExecute, Unsent: unsent,
			Message: fmt.Sprintf("plugin %s was shut down while it ran %s", in.proc.name, call.Name),
			Hint:    "the host is closing, or the plugin was removed",
		}
	}
	e := &tool.Error{
		Code: tool.CodeCrashed, Stage: tool.StageExecute, Unsent: unsent, Err: in.proc.exit,
		Message: fmt.Sprintf("plugin %s crashed while it ran %s: %s", in.proc.name, call.Name, in.proc.ending()),
		Hint:    "the next call starts it again",
		Detail:  in.proc.output.stderr.String(),
	}
	if unsent {
		e.Message = fmt.Sprintf("plugin %s crashed before it got the call of %s: %s", in.proc.name, call.Name, in.proc.ending())
	}
	if why := in.proc.output.stderr.cause(); why != "" {
		e.Message += ": " + why
	}
	return e
}

// onStreamFailed ends a process that broke the protocol, and any other whose stream has
// failed and that does not end by itself.
func (in *instance) onStreamFailed() {
	err := in.stream.Err()
	if !errors.Is(err, wire.ErrProtocol) {
		in.awaitExit()
		return
	}
	in.proc.log.Error("the plugin is ended: " + sanitize.Line(err.Error(), 1000))
	in.proc.refuse(errors.New(tool.AsError(err).Message))
	in.proc.kill()
}

// awaitExit waits for a process whose connection is gone, and ends one that goes on.
func (in *instance) awaitExit() {
	if waitFor(in.proc.exited, exitGrace) {
		return
	}
	in.proc.refuse(errDisconnected)
	in.proc.kill()
}

// exitGrace is how long a process whose connection broke may take to end by itself, so
// that the error can say how it ended.
const exitGrace = 2 * time.Second

var errDisconnected = errors.New("the connection was gone, and the process went on")

// crashed reports whether the run ended by a fault of the plugin's. One that ended as if it
// was asked to may have been asked by something other than the host: a socket that has a
// path is open to each process of the same user.
func (in *instance) crashed() bool {
	exit := in.proc.exit
	mayBeAsked := exit.Code == 0 && !exit.Stuck && !in.proc.grpc.isPrivate()
	return !in.calls.draining.Load() && !mayBeAsked
}

// addTo adds to a status what is known of the run. The supervisor's lock is held.
func (in *instance) addTo(out *Status, idleTimeout time.Duration) {
	out.Took, out.Since, out.Output = tool.Duration(in.took), in.since, in.proc.output.limit.String()
	switch {
	case in.end == nil:
		out.State, out.PID, out.Carrier = Ready, in.proc.number(), in.carrier()
		out.Calls = int(in.calls.n.Load())
		if why := in.health.degraded.Load(); why != nil {
			out.State, out.Reason = Degraded, *why
		}
	case in.idle.expired.Load():
		out.Reason = fmt.Sprintf("stopped, as it was not used for %v", idleTimeout)
	default:
		out.Reason = "the last run ended: " + in.end.reason
	}
}

// stop asks the process to end, and ends it when ctx does.
func (in *instance) stop(ctx context.Context) {
	defer context.AfterFunc(ctx, in.proc.kill)()
	if wire.Shutdown(ctx, in.conn) == nil {
		waitFor(in.proc.exited, shutdownGrace)
	}
	in.proc.kill()
	<-in.proc.exited
}

// shutdownGrace is how long a plugin that said it will end may take to.
const shutdownGrace = 2 * time.Second

// release gives back what a run that has ended, or never began, still holds: its
// connection, its socket directory, go-plugin's goroutines.
func (in *instance) release() {
	if in.stream != nil {
		_ = in.stream.Close()
	} else if in.proc.socket != nil {
		_ = in.proc.socket.Close()
	}
	if in.conn != nil {
		_ = in.conn.Close()
	}
	in.proc.kill()
	in.client.Kill()
	in.proc.grpc.close()
	waitFor(in.proc.gone, goneGrace)
}

// goneGrace bounds how long the end of a run waits for its descendants to end.
const goneGrace = 2 * time.Second

// waitFor reports whether c closes within d.
func waitFor(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
