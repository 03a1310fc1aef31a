package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/inflight"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// instance is one run of a plugin that shook hands and described itself.
type instance struct {
	proc  *process
	link  link
	about wire.Description // as it was when the run started
	since time.Time        // when it was ready
	took  time.Duration    // from fork to description
	shook time.Duration    // of that, since the process was there

	calls     inflight.Calls
	health    health
	idle      idle
	refresh   refresh
	answered  atomic.Bool                   // any call; a run that never did is not taken for one that is well
	fault     *atomic.Pointer[plugin.Fault] // of the plugin
	published chan struct{}                 // closed when the host knows what this run described

	end    *runEnd // nil: it runs; guarded by the supervisor's lock, as is spare
	spare  bool    // it is kept warm
	origin origin  // of a spare
}

// runEnd is how and when a run ended.
type runEnd struct {
	at      time.Time
	reason  string
	crashed bool
	then    consequence
}

// counted makes a call that was added to the calls of the run. (A defer in a loop would be allocated.)
func (in *instance) counted(ctx context.Context, call tool.Call, do runFunc) (tool.Result, error) {
	defer in.calls.Done()
	in.idle.use()
	return do(in, ctx, call)
}

// execute runs one call.
func (in *instance) execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	res, err := in.link.execute(ctx, call)
	return in.classify(ctx, call, res, err)
}

// preview asks what a call would do.
func (in *instance) preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	res, err := in.link.preview(ctx, call)
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
	in.fault.Store(&plugin.Fault{Text: sanitize.Line(call.Name+": "+e.Message, 1000), Time: time.Now()})
	return &e
}

// evidenceGrace is how long an answer that cannot be used waits for the first line of
// standard error, which comes another way.
const evidenceGrace = 50 * time.Millisecond

// exitError says that the process ended during the call, and whether the host ended it.
// Unsent means that the plugin never saw the call.
func (in *instance) exitError(call tool.Call, unsent bool) *tool.Error {
	if in.calls.Draining() {
		return &tool.Error{
			Code: tool.CodeUnavailable, Stage: callstage.Execute, Unsent: unsent,
			Message: fmt.Sprintf("plugin %s was shut down while it ran %s", in.proc.name, call.Name),
			Hint:    "the host is closing, or the plugin was removed",
		}
	}
	e := &tool.Error{
		Code: tool.CodeCrashed, Stage: callstage.Execute, Unsent: unsent, Err: in.proc.exit,
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
	if in.proc.exit.Limit != "" {
		e.Code = tool.CodeResourceExhausted
		e.OperatorHint = "the next call starts it again; the limits are those of sandbox in its settings, or what it declares"
	}
	return e
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
	mayBeAsked := exit.Code == 0 && !exit.Stuck && !in.link.isPrivate()
	return !in.calls.Draining() && !mayBeAsked
}

// addTo adds to a status what is known of the run. The supervisor's lock is held.
func (in *instance) addTo(out *plugin.Status, idleTimeout time.Duration) {
	out.Took, out.Since, out.Output = tool.Duration(in.took), in.since, in.proc.output.limit.String()
	switch {
	case in.end == nil:
		out.State, out.PID, out.Carrier = plugin.Ready, in.proc.number(), in.link.carrier()
		out.Calls = in.calls.Running()
		if why := in.health.degraded.Load(); why != nil {
			out.State, out.Reason = plugin.Degraded, *why
		} else if why := in.health.problem.Load(); why != nil {
			out.State, out.Reason = plugin.Degraded, *why
		}
	case in.idle.expired.Load():
		out.Reason = fmt.Sprintf("stopped, as it was not used for %v", idleTimeout)
	case in.end.reason == "exit status 0": // as it should, once it had nothing to do
	default:
		out.Reason = "the last run ended: " + in.end.reason
	}
}

// stop asks the process to end, and ends it when ctx does.
func (in *instance) stop(ctx context.Context) {
	defer context.AfterFunc(ctx, in.proc.kill)()
	in.link.shutdown(ctx)
	in.proc.kill()
	<-in.proc.exited
}

// release gives back what a run that has ended, or never began, still holds.
func (in *instance) release() {
	in.link.release()
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
