package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// link is one connection to a server: a [plugin.Connection].
type link struct {
	u       *Upstream
	to      plugin.Events
	session *mcp.ClientSession
	direct  *pipeConn // on which calls of tools pass by the SDK; nil: they are the SDK's
	sdk     *mcp.Client
	abort   func() error // breaks the transport, whatever the SDK waits for

	// life ends with the connection. It has no values: what belongs to the call that made the
	// host connect must not reach the questions of other calls.
	life context.Context
	end  context.CancelCauseFunc
	done chan struct{}
	err  error // set before done is closed

	patient bool // whether a request may wait for a login

	can   *mcp.ClientCapabilities // what it was told that the host can do
	begun mcp.Result              // of an initialize that was sent by discover; nil: none was answered

	pace   *rate.Limiter // of messages that are not answers
	ready  chan struct{} // closed when the tools are listed
	listed atomic.Pointer[listing]
	relist pacer
	pinned atomic.Pointer[string] // what its definitions pin of what it has besides tools
	others pacer
	open   calls
	asking atomic.Int32  // questions that wait for an answer
	denied atomic.Bool   // whether the server wanted an authorization that it did not get
	faults *rate.Limiter // of what is reported
	strays sync.Once
}

var (
	_ plugin.Connection = (*link)(nil)
	_ pluginrun.Pinger  = (*link)(nil)
)

var (
	errClosed       = errors.New("the connection was closed")
	errUndiscovered = errors.New("it has not answered server/discover")
)

// connectWith connects and lists the tools. The handler authorizes requests over HTTP.
func (u *Upstream) connectWith(
	ctx context.Context, stdio io.ReadWriteCloser, to plugin.Events, handler auth.OAuthHandler,
) (*link, error) {
	life, end := context.WithCancelCause(context.Background())
	l := &link{
		u: u, to: to, life: life, end: end, done: make(chan struct{}), ready: make(chan struct{}),
		pace:   rate.NewLimiter(messagesRate, messagesBurst),
		faults: rate.NewLimiter(1, maxFaults),
	}
	l.relist.run, l.others.run = l.listAgain, l.offerAgain
	_, own := handler.(*authorizer)
	l.patient = handler != nil && !own
	transport, err := u.transport(l, stdio, handler)
	if err != nil {
		end(err)
		return nil, err
	}
	release := context.AfterFunc(ctx, func() {
		end(context.Cause(ctx))
		_ = l.abort()
	})
	version := u.config.Version
	if version == "" && strings.HasSuffix(to.SDK, bySession) {
		u.sessions.Store(true)
	}
	if version == "" && (u.legacy.Load() || u.sessions.Load()) {
		version = lastWithSessions
	}
	session, err := l.client().Connect(life, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		l.session = session
		go l.watch()
		if err = l.listFirst(ctx); err == nil {
			for _, kept := range u.kept { // of another connection
				kept.forget()
			}
			l.listOthers(ctx, mcpwire.Prompts, mcpwire.Resources, mcpwire.Templates)
		}
	}
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		close(l.ready)
		return l, nil
	}
	// The program may have ended at the first request that it did not know.
	again := version == "" && ctx.Err() == nil && session == nil && stdio != nil
	if cause := context.Cause(life); cause != nil {
		err = cause
	}
	end(err)
	_ = l.abort()
	if err = l.refusal(err); again {
		u.legacy.Store(true)
		err = fmt.Errorf("%w: %w", pluginrun.ErrAgain, err)
	}
	return nil, err
}

// lastWithSessions is the newest revision of the protocol that begins with initialize.
const lastWithSessions = "2025-11-25"

// watch waits for the end of the connection.
func (l *link) watch() {
	err := l.session.Wait()
	if err == nil {
		err = fmt.Errorf("the server closed the connection: %w", io.EOF)
	}
	if cause := context.Cause(l.life); cause != nil {
		err = cause
	}
	l.u.lose(l)
	l.end(err)
	_ = l.session.Close() // ends the goroutine that the SDK has for notices
	l.err = l.clean(err)
	close(l.done)
}

// Description implements [plugin.Connection].
func (l *link) Description() plugin.Description {
	about := plugin.Description{SDK: "mcp"}
	if init := l.session.InitializeResult(); init != nil {
		about.SDK = "mcp/" + init.ProtocolVersion
		if l.u.sessions.Load() {
			about.SDK += bySession
		}
		if init.ServerInfo != nil {
			about.Version = init.ServerInfo.Version
		}
	}
	if listed := l.listed.Load(); listed != nil {
		about.Tools = append(listed.definitions(), l.ownDefinitions()...)
	}
	return about
}

// Done implements [plugin.Connection].
func (l *link) Done() <-chan struct{} { return l.done }

// Err implements [plugin.Connection].
func (l *link) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// Ping implements [pluginrun.Pinger]. A server of a revision that has no ping says so, which is an
// answer too.
func (l *link) Ping(ctx context.Context) error { return l.session.Ping(ctx, nil) }

// closeTime bounds how long a server may take to end a session.
const closeTime = 5 * time.Second

// Close implements [plugin.Connection]. Over HTTP it ends the server's session too.
func (l *link) Close(ctx context.Context) error {
	l.u.lose(l)
	if l.u.config.Command == "" {
		ctx, stop := context.WithTimeout(ctx, closeTime)
		defer stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = l.session.Close() // waits for open calls, until life ends
		}()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	l.end(errClosed)
	err := l.abort()
	select {
	case <-l.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxFaults bounds what one list has reported at once.
const maxFaults = 20

// fault reports what was wrong with the server, at a bounded rate.
func (l *link) fault(err error) {
	if l.to.Fault != nil && l.faults.Allow() {
		l.to.Fault(l.clean(err))
	}
}

// stray takes a line of standard output that is not a message, as many servers print there, and
// what they import: it goes to the server's log. The first is reported, as the server may mean an
// answer. It returns an error if the connection has ended.
func (l *link) stray(line []byte) error {
	text := sanitize.Line(string(line[:min(len(line), maxStray)]), maxStray)
	l.strays.Do(func() {
		l.fault(fmt.Errorf("its standard output has a line that is not a message, and goes to its log: %q", text))
	})
	if l.to.Log != nil {
		l.to.Log(slog.LevelInfo, text)
	}
	return l.wait(false)
}

// malformed reports JSON that is not a message. It returns an error if the connection has ended.
func (l *link) malformed(err error) error {
	l.fault(fmt.Errorf("it sent what is not a message: %w", err))
	return l.wait(false)
}

// maxStray bounds what is kept of a line that is not a message, in bytes.
const maxStray = 4 << 10

// client returns the SDK's client of one connection.
func (l *link) client() *mcp.Client {
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.relist.trigger(l.life)
		},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
			l.u.kept[mcpwire.Prompts].forget()
			l.others.trigger(l.life)
			l.u.tell(func(n *mcpwire.Notices) { n.PromptsChanged() })
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			l.u.kept[mcpwire.Resources].forget()
			l.u.kept[mcpwire.Templates].forget()
			l.others.trigger(l.life)
			l.u.tell(func(n *mcpwire.Notices) { n.ResourcesChanged() })
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			if r.Params != nil {
				l.u.tell(func(n *mcpwire.Notices) { n.ResourceUpdated(r.Params.URI) })
			}
		},
		// A call's rounds of questions are in rounds.go, where what was asked stays as it was
		// sent, and roots are the caller's.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	may := l.u.config.Questions // the SDK declares what has a handler
	if may.allows(askRoots) {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{ListChanged: true}
	}
	if may.allows(askElicitation) {
		o.ElicitationHandler = l.elicitationRequest
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}
	}
	if may.allows(askSampling) {
		o.CreateMessageWithToolsHandler = l.samplingRequest
		o.Capabilities.Sampling = &mcp.SamplingCapabilities{Tools: &mcp.SamplingToolsCapabilities{}}
	}
	l.can = o.Capabilities
	l.sdk = mcp.NewClient(implementation(), o)
	l.sdk.AddSendingMiddleware(l.sending)
	l.sdk.AddReceivingMiddleware(l.receiving)
	return l.sdk
}

// sending changes what the SDK would do with a request or its result.
func (l *link) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch {
		case method == "server/discover" && l.u.config.Command != "":
			return l.discover(ctx, next, req)
		case method == "initialize" && l.begun != nil:
			return l.begun, nil
		case method == "server/discover" && !l.patient:
			// A server that knows no such request may leave it unanswered.
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, discoverTime)
			defer stop()
		}
		result, err := next(ctx, method, req)
		uncache(result)
		return result, err
	}
}

// pacer runs a function after triggers, one at a time and not too often.
type pacer struct {
	run func()

	mu      sync.Mutex
	running bool
	again   bool
}

// trigger has the function run soon; until it does, more triggers change nothing.
func (p *pacer) trigger(life context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		p.again = true
		return
	}
	p.running = true
	go func() { // until there were no triggers for a while, or life ends
		for {
			p.run()
			select {
			case <-life.Done():
			case <-time.After(relistEvery):
			}
			p.mu.Lock()
			if !p.again || life.Err() != nil {
				p.running = false
				p.mu.Unlock()
				return
			}
			p.again = false
			p.mu.Unlock()
		}
	}()
}
