package mcpserver

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpline"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// running is the work of a request, and the context of it, which answers what package tool
// looks for in the context of a call. It is also what an upstream server sees of the client.
type running struct {
	context.Context
	cancel  context.CancelCauseFunc
	client  *clientSession
	trace   tool.Trace
	parking *parking // nil: it cannot be parked

	mu     sync.Mutex
	at     *request // nil: none is open, the call is parked or has ended
	before *request // the last that was open

	noted  func(tool.Progress) // of the task that the call has become; nil: it is none
	tasked context.Context     // of the task that the call began as, set before it runs; nil: it is none

	notes    noteQueue
	reports  sync.Mutex
	progress float64 // the last that was reported
	reported bool
}

// request is what a call that is open answers: the client's request, or after a question the
// one that brought the answer.
type request struct {
	client  *clientSession
	ctx     context.Context // of the SDK's handler, by which it finds the stream
	post    context.Context // of the HTTP request, if the SDK's context outlives it
	session *mcp.ServerSession
	meta    map[string]any
	trace   tool.Trace
	latest  bool // of a revision without sessions
	// early are answers to questions that were not asked yet. They count for those of mounted
	// servers, which choose the keys themselves, and never for approvals.
	early mcp.InputResponseMap
	http  bool
	task  *tasking // nil: the call does not become a task

	can func() *mcp.ClientCapabilities // what the client can be asked for; nil: it did not say
}

// requestOf describes a request. On HTTP a client with a session whose request is gone is given
// no result any more, so that its context is one of those that end a call.
func (c *clientSession) requestOf(
	ctx context.Context, ss *mcp.ServerSession, extra *mcp.RequestExtra, meta map[string]any,
) *request {
	s := c.server
	at := &request{
		client: c, ctx: ctx, session: ss, meta: meta, trace: traceOf(meta, extra), latest: isStateless(meta), http: onHTTP(extra),
	}
	at.can = at.capabilities
	switch {
	case at.http && !at.latest:
		at.post = s.posts.of(extra)
	case at.latest && !at.http: // one session, whose requests each say what the client can do
		at.can = sync.OnceValue(at.namedCapabilities)
	}
	if level, _ := meta[mcp.MetaKeyLogLevel].(string); level != "" && at.latest && s.opts.Upstreams != nil {
		s.setLevel(ctx, nil, mcp.LoggingLevel(level))
	}
	return at
}

// traceOf returns the trace that the "_meta" of a request names, or else the headers of the HTTP
// request that it came with.
func traceOf(meta map[string]any, extra *mcp.RequestExtra) (t tool.Trace) {
	t.Parent, _ = meta["traceparent"].(string)
	t.State, _ = meta["tracestate"].(string)
	if t.Parent == "" && onHTTP(extra) {
		t.Parent, t.State = extra.Header.Get("Traceparent"), extra.Header.Get("Tracestate")
	}
	return t
}

// token returns what progress is reported under; nil: the client wants no reports.
func (at *request) token() any { return at.meta["progressToken"] }

func (at *request) capabilities() *mcp.ClientCapabilities {
	if init := at.session.InitializeParams(); init != nil {
		return init.Capabilities
	}
	return nil
}

// namedCapabilities are those that a client named in a request.
type namedCapabilities struct {
	value        any // as it is in the request's "_meta"
	capabilities *mcp.ClientCapabilities
}

// namedCapabilities returns those that the request names. Each request of a client repeats them, and
// decoding them takes longer than the chain.
func (at *request) namedCapabilities() *mcp.ClientCapabilities {
	value := at.meta[mcp.MetaKeyClientCapabilities]
	if last := at.client.named.Load(); last != nil && reflect.DeepEqual(last.value, value) {
		return last.capabilities
	}
	call := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: at.meta}}
	now := &namedCapabilities{value, call.ClientCapabilities()}
	at.client.named.Store(now)
	return now.capabilities
}

// newRun returns work that ends with ctx, or is cancelled.
func (c *clientSession) newRun(ctx context.Context, at *request) *running {
	r := &running{client: c, at: at, before: at, trace: at.trace}
	r.Context, r.cancel = context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		r.cancel(errGone)
	}
	c.calls[r] = struct{}{}
	return r
}

// end ends the work: nothing more is reported of it.
func (r *running) end() {
	r.notes.close()
	r.mu.Lock()
	r.at = nil
	r.mu.Unlock()
	r.client.mu.Lock()
	delete(r.client.calls, r)
	r.client.mu.Unlock()
	r.cancel(context.Canceled)
}

// runKey is the key of a *running in the contexts of its work.
type runKey struct{}

// Value implements [context.Context].
func (r *running) Value(key any) any {
	switch key.(type) {
	case callctx.Progress, callctx.Waits:
		if r.last().token() == nil && (r.parking == nil || r.parking.task == nil) {
			return nil
		}
		if key == (callctx.Waits{}) {
			return r.waits
		}
		return r.report
	case callctx.Log:
		if !r.last().logs() {
			return nil
		}
		return r.logLine
	case callctx.Ask:
		if !r.last().elicits(&mcp.ElicitParams{}) {
			return nil
		}
		return tool.Asker(r.ask)
	case mcpwire.PeerKey:
		return mcpwire.Peer(r)
	case runKey:
		return r
	case callctx.Trace:
		return &r.trace
	}
	v := r.Context.Value(key)
	if v == nil && r.tasked != nil {
		v = r.tasked.Value(key) // what the store says
	}
	return v
}

// attached returns the request that is open; nil: none is.
func (r *running) attached() *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// last returns the request that is open, or was last.
func (r *running) last() *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at != nil {
		return r.at
	}
	return r.before
}

// report sends progress, which only grows.
func (r *running) report(p tool.Progress) {
	r.mu.Lock()
	at, noted := r.at, r.noted
	r.mu.Unlock()
	if noted != nil {
		noted(p)
		return
	}
	if at == nil || at.token() == nil {
		return
	}
	r.reports.Lock()
	defer r.reports.Unlock()
	if r.reported && p.Done <= r.progress {
		return
	}
	r.progress, r.reported = p.Done, true
	r.notes.add(func() {
		_ = at.session.NotifyProgress(at.ctx, &mcp.ProgressNotificationParams{
			ProgressToken: at.token(), Progress: p.Done, Total: p.Total, Message: p.Message,
		})
	})
}

const (
	// waitsEvery is how often a client hears of a call that waits for a person: many give up after a minute of silence.
	waitsEvery = 15 * time.Second
	// waitsStep is what such a report adds to the progress of a tool, which may be small, and has to grow.
	waitsStep = 1e-6
)

// waits reports to the client, until stop returns, why the call waits.
func (r *running) waits(why string) (stop func()) {
	ctx, cancel := context.WithCancel(r.Context)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(waitsEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.reports.Lock()
				done := r.progress + waitsStep
				r.reports.Unlock()
				r.report(tool.Progress{Done: done, Message: why})
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// callTool answers tools/call.
func (c *clientSession) callTool(ctx context.Context, r *mcp.CallToolRequest) (mcp.Result, error) {
	p := r.Params
	if p.Name == "" {
		return nil, invalid("the call names no tool")
	}
	if first := mcpline.FirstByte(p.Arguments); first != 0 && first != '{' {
		return nil, invalid("the arguments of tool %.128q are not an object", p.Name)
	}
	at := c.requestOf(ctx, r.Session, r.Extra, p.Meta)
	key := requestKey{mcpwire.MethodCall, p.Name, p.Arguments}
	if err := c.mayBecomeTask(at, p); err != nil {
		return nil, err
	}
	return c.answer(ctx, at, key, p.RequestState, p.InputResponses, func(ctx context.Context) (mcp.Result, error) {
		c.awaitTool(ctx, p)
		out, res, err := c.now().CallWith(ctx, tool.Call{Name: p.Name, Arguments: p.Arguments}, host.CallOptions{})
		if at.task != nil {
			at.task.end = task.End{Outcome: out, Result: res, Err: err}
		}
		return resultOf(out, res, err, at.latest, out.Name == p.Name)
	})
}
