package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// instance is one run of a plugin that shook hands and described itself.
type instance struct {
	proc      *process
	client    *plugin.Client
	conn      *grpc.ClientConn
	wire      *wire.Client
	stream    *wire.Stream // nil: calls are unary
	about     atomic.Pointer[wire.Description]
	onChange  func(*instance) // the plugin's tools are others than about says
	asked     atomic.Bool     // it is about to be asked which
	changes   *rate.Limiter   // how often it is
	changing  sync.Mutex      // held while it is asked and the host takes what it says
	restUntil time.Time       // when it may be asked again; guarded by changing
	calls     inflight
	wanted    atomic.Bool // it was told to end
	faults    *atomic.Pointer[Fault]
	pulse     pulse
	rest      rest
	mourned   bool // its end was noted; the plugin holds the lock
	since     time.Time
	took      time.Duration // from fork to description
}

// launch starts a plugin's binary, shakes hands, asks for its description and
// configures it. It returns when that is done, has failed or ctx has ended; in
// the last two cases nothing of it is left. OnChange is told when the plugin says
// that its tools are others now; it must not block.
func launch(ctx context.Context, c Candidate, cfg Config, onChange func(*instance)) (*instance, error) {
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.StartTimeout, fmt.Errorf("it was not ready within %v", cfg.StartTimeout))
	defer cancel()

	copied, err := cfg.pin(ctx, c.Name, c.Path)
	if err != nil {
		return nil, err
	}
	in := &instance{
		proc: newProcess(c, cfg), onChange: onChange, pulse: pulse{pause: cmp.Or(cfg.healthPause, healthPause)},
		changes: rate.NewLimiter(rate.Every(changePause), freeChanges),
	}
	in.proc.copied = copied
	in.client = plugin.NewClient(clientConfig(in.proc, cfg))
	// Whatever a start may be waiting for, it ends with the process.
	defer context.AfterFunc(ctx, in.proc.kill)()

	err = in.connect(ctx, cfg)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		// If the process is about to end by itself, how it ends is the reason.
		waitFor(in.proc.exited, lastWords)
		err = in.startError(ctx, err)
		in.release()
		return nil, err
	}
	in.since, in.took = time.Now(), time.Since(begin)
	return in, nil
}

// lastWords is how long a failed start waits for the process to end by itself,
// so that the error can say how it did.
const lastWords = 100 * time.Millisecond

func (in *instance) connect(ctx context.Context, cfg Config) error {
	protocol, err := in.client.Client()
	if err != nil {
		return err
	}
	grpcClient, ok := protocol.(*plugin.GRPCClient)
	if !ok {
		return errors.New("it does not serve gRPC")
	}
	in.conn = grpcClient.Conn
	if in.wire, err = wire.Dispense(protocol); err != nil {
		return err
	}
	about, err := in.wire.Describe(ctx, cfg.HostVersion)
	if err != nil {
		return err
	}
	in.about.Store(&about)
	if err := in.proc.copied.described(in.proc.name, about); err != nil {
		return err
	}
	if err := CheckConfiguration(ctx, about.ConfigSchema, cfg.Config); err != nil {
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

// openStream prepares the carrier that was chosen, or else the next that the
// plugin offers.
func (in *instance) openStream(ctx context.Context, chosen Carrier) (err error) {
	offers := func(feature string) bool { return slices.Contains(in.about.Load().Features, feature) }
	hooks := wire.StreamHooks{Pace: in.proc.pace, Changed: func() { in.onChange(in) }, Failed: in.bury, Log: in.proc.logRecord}
	switch {
	case in.proc.host != nil && offers(wire.FeatureSocket):
		in.stream = wire.NewStream(wire.NewSocket(in.proc.host), hooks)
	case chosen != Unary && offers(wire.FeatureStream):
		in.stream, err = in.wire.OpenStream(ctx, hooks)
	default:
		in.proc.grpc.boundUnary()
	}
	if err == nil && offers(wire.FeatureStderr) {
		close(in.proc.alone) // and with it the stream of what the plugin prints
	}
	return err
}

// carrier is what the calls travel on.
func (in *instance) carrier() Carrier {
	switch {
	case in.stream == nil:
		return Unary
	case in.proc.host != nil && slices.Contains(in.about.Load().Features, wire.FeatureSocket):
		return Socket
	}
	return Stream
}

// bury waits for a process whose stream has failed, and ends one that goes on.
func (in *instance) bury() {
	if errors.Is(in.stream.Err(), wire.ErrProtocol) {
		why := in.stream.Err()
		in.proc.log.Error("the plugin is ended: " + sanitize.Line(why.Error(), 1000))
		in.proc.refuse(errors.New(tool.AsError(why).Message))
		in.proc.kill()
		return
	}
	in.hungUp()
}

// hungUp ends a process whose connection is gone and that does not end by itself.
func (in *instance) hungUp() {
	if waitFor(in.proc.exited, exitGrace) {
		return
	}
	in.proc.refuse(errHungUp)
	in.proc.kill()
}

var errHungUp = errors.New("its connection was gone, and it went on")

// ending says how the run ended, and why where the host ended it.
func (in *instance) ending() string {
	how := in.proc.exit.Error()
	if why := in.proc.refusal(); why != nil && !in.proc.endedItself() {
		how += " by the host: " + sanitize.Line(why.Error(), 1000)
	}
	return how
}

func clientConfig(p *process, cfg Config) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.ClientPlugins(),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			if err := p.openSocketDir(socketDir); err != nil {
				return nil, err
			}
			return &goRunner{process: p, env: cmd.Env}, nil
		},
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: cfg.TempDir},
		// Our own bound is the context's; this one only ends what it missed.
		StartTimeout:    cfg.StartTimeout + time.Second,
		GRPCDialOptions: dialOptions(&p.grpc, cfg.StartTimeout),
		SyncStdout:      newLineLogger(p),
		SyncStderr:      newLineLogger(p),
		Stderr:          io.Discard,
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	}
}

// startError says why a start failed, in the words that help most: what the
// plugin did wrong in the handshake, how its process ended, or how far it got.
func (in *instance) startError(ctx context.Context, err error) error {
	if errors.Is(err, errPinned) {
		return err
	}
	name := in.proc.name
	out := &tool.Error{
		Code: tool.CodeUnavailable, Plugin: name, Stage: tool.StageStart, Unsent: true,
		Hint: "see toolhost plugins show " + name, Detail: in.proc.stderr.String(),
	}
	refusal := in.proc.refusal()
	switch {
	case refusal != nil && !errors.Is(refusal, errClosedEarly):
		out.Err = refusal
	case in.proc.endedItself():
		out.Err = fmt.Errorf("it ended before it was ready: %w", in.proc.exit)
		if last := in.proc.stderr.last(); last != "" {
			out.Err = fmt.Errorf("%w: %s", out.Err, last)
		}
	case ctx.Err() != nil:
		out.Err = context.Cause(ctx)
		if errors.Is(ctx.Err(), context.Canceled) {
			out.Code = tool.CodeCanceled
		}
	case refusal != nil:
		out.Err = refusal
	default:
		out.Err = err
	}
	out.Message = fmt.Sprintf("plugin %s did not start: %s", name, sanitize.Line(out.Err.Error(), 1000))
	return out
}

// startFailure says that there was no process at all.
type startFailure struct{ reason string }

func (e *startFailure) Error() string { return e.reason }

// startReason explains why the system would not run a file.
func startReason(path string, err error) error {
	why := err.Error()
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		why = "the system cannot run it: it is no program for this machine (wrong architecture, half a copy, or a script without #!)"
	case errors.Is(err, fs.ErrNotExist):
		why = "the system cannot run it: the file, or the interpreter or loader that it names, does not exist"
	case errors.Is(err, fs.ErrPermission):
		why = "the system may not run it: check the file's mode and the mount options"
	case errors.Is(err, syscall.ETXTBSY):
		why = "the file is still being written"
	}
	return &startFailure{strings.TrimSpace(why) + ": " + path}
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
	return in.came(ctx, call, res, err)
}

// preview asks what a call would do. Previews are few and somebody reads them, so
// they have no carrier of their own.
func (in *instance) preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	if !slices.Contains(in.about.Load().Features, wire.FeaturePreview) {
		return tool.Result{}, tool.NoPreview(call.Name)
	}
	res, err := in.wire.Preview(ctx, call)
	return in.came(ctx, call, res, err)
}

// came is what came of a call, with the fault found where there is one.
func (in *instance) came(ctx context.Context, call tool.Call, res tool.Result, err error) (tool.Result, error) {
	if err == nil {
		in.alive()
		return res, nil
	}
	if ctx.Err() != nil || !errors.Is(err, wire.ErrDisconnected) || errors.Is(err, wire.ErrProtocol) {
		return res, in.sign(err, call)
	}
	// The connection is gone. The process has ended, is about to, or cannot be
	// used any longer.
	in.hungUp()
	select {
	case <-in.proc.exited:
		return tool.Result{}, in.endError(call, tool.AsError(err).Unsent)
	case <-ctx.Done():
		return tool.Result{}, in.sign(ctx.Err(), call)
	}
}

// exitGrace is how long a process whose connection broke may take to end by
// itself, so that the error can say how it ended.
const exitGrace = 2 * time.Second

// sign puts the plugin's name on an error, and keeps what it says fit to be
// shown. What the host itself found to be wrong is noted, with the end of standard
// error as evidence.
func (in *instance) sign(err error, call tool.Call) error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	e.Plugin, e.Tool = in.proc.name, call.Name
	e.Message, e.Hint = sanitize.Line(e.Message, 4000), sanitize.Line(e.Hint, 1000)
	switch {
	case errors.Is(err, wire.ErrClaimed):
		in.alive()
		return &e
	case e.Unsent, len(call.Arguments) >= wire.MaxMessage: // which no carrier takes
		return &e
	}
	switch e.Code {
	case tool.CodeInvalidResult, tool.CodeResourceExhausted:
		waitFor(in.proc.stderr.begun, evidenceGrace)
	case tool.CodeDeadlineExceeded:
		in.suspect()
	case tool.CodeUnavailable:
	default:
		return &e
	}
	if e.Detail == "" {
		e.Detail = in.proc.stderr.String()
	}
	in.faults.Store(&Fault{Text: sanitize.Line(call.Name+": "+e.Message, 1000), Time: time.Now()})
	return &e
}

// evidenceGrace is how long an answer that cannot be used waits for the first line
// of standard error, which comes another way.
const evidenceGrace = 50 * time.Millisecond

// endError says that the process ended during the call: by our hand or its own.
// Unsent means that the plugin never saw it.
func (in *instance) endError(call tool.Call, unsent bool) error {
	if in.calls.draining.Load() {
		return &tool.Error{
			Code: tool.CodeUnavailable, Tool: call.Name, Plugin: in.proc.name, Stage: tool.StageExecute,
			Message: fmt.Sprintf("plugin %s was shut down while it ran %s", in.proc.name, call.Name), Unsent: unsent,
			Hint: "the host is closing, or the plugin was removed",
		}
	}
	e := &tool.Error{
		Code: tool.CodeCrashed, Tool: call.Name, Plugin: in.proc.name, Stage: tool.StageExecute,
		Message: fmt.Sprintf("plugin %s crashed while it ran %s: %s", in.proc.name, call.Name, in.ending()),
		Hint:    "the next call starts it again",
		Detail:  in.proc.stderr.String(), Err: in.proc.exit, Unsent: unsent,
	}
	if unsent {
		e.Message = fmt.Sprintf("plugin %s crashed before it got the call of %s: %s", in.proc.name, call.Name, in.ending())
	}
	if why := in.proc.stderr.cause(); why != "" {
		e.Message += ": " + why
	}
	return e
}

// dead reports whether the process has ended.
func (in *instance) dead() bool {
	select {
	case <-in.proc.exited:
		return true
	default:
		return false
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

// release gives back what a run that has ended or never began still holds: its
// connection, its socket directory, go-plugin's goroutines.
func (in *instance) release() {
	if in.stream != nil {
		_ = in.stream.Close()
	} else if in.proc.host != nil {
		_ = in.proc.host.Close()
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
