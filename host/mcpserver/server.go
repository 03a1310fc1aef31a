package mcpserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/share"
)

// Client is an MCP client as it comes in.
type Client struct {
	// Name and Version are what the client program says of itself. Default: empty, it says
	// nothing.
	Name, Version string
	// Transport is "stdio" or "http".
	Transport string
	// Identity is the authenticated caller, the UserID of the SDK's auth.TokenInfo. Default:
	// empty, on stdio and without authentication.
	Identity string
}

// Server serves the tools of a host to MCP clients: one on standard input and output with
// [Server.Run], many on HTTP with [Server.Handler]. It speaks the stateless revision
// 2026-07-28 of the protocol and the revisions with sessions before it.
type Server struct {
	host *host.Host
	opts Options
	mcp  *mcp.Server
	list *catalogue

	ended context.Context // ends with Close
	end   context.CancelFunc
	tasks sync.WaitGroup
	posts posts
	rates share.Paces[string] // of the requests of callers

	relayed relayedServers

	mu         sync.Mutex
	sessions   map[*mcp.ServerSession]*clientSession
	stateless  map[statelessKey]*clientSession
	streams    map[*mcp.ServerSession]*mcp.ServerSession // clients, by the sessions of their subscriptions
	listeners  map[*mcp.ServerSession]*listener
	parked     map[string]*running                              // by ID
	subscribed map[*mcp.ServerSession]map[string]mcpwire.Source // by URI
	changed    chan struct{}                                    // closed when the tools of the host change
	levels     map[*mcp.ServerSession]mcp.LoggingLevel
	roots      map[*mcp.ServerSession][]*mcp.Root
	rootsAsks  map[*rootsAsk]bool
	leaving    map[string]bool  // sessions that their clients are ending, by ID
	wanted     mcp.LoggingLevel // the lowest that a request has said
	key        []byte           // authenticates the states of parked calls
}

// New returns a server for the tools of h.
//
// # Errors
//
// A plain error if the options have no Session.
func New(h *host.Host, opts Options) (*Server, error) {
	if h == nil || opts.Session == nil {
		return nil, errors.New("an MCP server needs a host, and a function that gives clients their sessions")
	}
	opts.setDefaults()
	s := &Server{
		host: h, opts: opts, list: newCatalogue(h),
		streams:    map[*mcp.ServerSession]*mcp.ServerSession{},
		sessions:   map[*mcp.ServerSession]*clientSession{},
		stateless:  map[statelessKey]*clientSession{},
		listeners:  map[*mcp.ServerSession]*listener{},
		parked:     map[string]*running{},
		subscribed: map[*mcp.ServerSession]map[string]mcpwire.Source{},
		changed:    make(chan struct{}),
		levels:     map[*mcp.ServerSession]mcp.LoggingLevel{},
		roots:      map[*mcp.ServerSession][]*mcp.Root{},
		rootsAsks:  map[*rootsAsk]bool{},
		leaving:    map[string]bool{},
		relayed:    relayedServers{all: map[Upstream]*relay{}},
		key:        random(sha256.Size),
	}
	s.ended, s.end = context.WithCancel(context.Background())
	about := &mcp.ServerOptions{
		Instructions: opts.Instructions,
		Logger:       quiet(opts.Logger),
		Capabilities: &mcp.ServerCapabilities{
			Tools:   &mcp.ToolCapabilities{ListChanged: true},
			Logging: &mcp.LoggingCapabilities{},
		},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { *c = listCache },
	}
	if opts.Upstreams != nil {
		about.Capabilities.Prompts = &mcp.PromptCapabilities{ListChanged: true}
		about.Capabilities.Resources = &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true}
		about.Capabilities.Completions = &mcp.CompletionCapabilities{}
		about.InitializedHandler = func(_ context.Context, r *mcp.InitializedRequest) { s.learnRoots(r.Session) }
		about.RootsListChangedHandler = func(_ context.Context, r *mcp.RootsListChangedRequest) { s.learnRoots(r.Session) }
		about.SubscribeHandler, about.UnsubscribeHandler = s.subscribe, s.unsubscribe
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: opts.Name, Version: opts.Version}, about)
	s.serveDecoded()
	s.mcp.AddReceivingMiddleware(s.receive)
	s.mcp.AddSendingMiddleware(s.send)
	if opts.Tasks != nil {
		about.Capabilities.AddExtension(tasksExtension, nil)
		s.serveTasks()
	}
	s.list.bindHeaders(s.mcp)
	s.relays()
	s.tasks.Go(s.watch)
	return s, nil
}

// quiet drops what the SDK logs of the course of each session.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(warnings{l.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Run serves one client until it leaves, ctx ends, or the server is closed, and then ends its
// calls and its session. A client that leaves is not an error.
//
// # Errors
//
// Those of the transport, such as a message that is too long or not JSON; those of ctx.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	connected := make(chan *mcp.ServerSession, 1)
	ss, err := s.mcp.Connect(ctx, &streams{t, s.streamsOf(connected)}, nil)
	if err != nil {
		return err
	}
	connected <- ss
	gone := make(chan error, 1)
	go func() { gone <- ss.Wait() }()
	select {
	case err = <-gone:
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.ended.Done():
	}
	s.leave(ss)
	_ = ss.Close()
	return err
}

// streamsOf serves the subscriptions of a client, once it is connected.
func (s *Server) streamsOf(connected chan *mcp.ServerSession) func(mcp.Transport) {
	return func(t mcp.Transport) {
		go func() {
			client := <-connected
			connected <- client
			ss, err := s.mcp.Connect(context.Background(), t, nil)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.streams[ss] = client
			s.mu.Unlock()
			_ = ss.Wait()
			s.leave(ss)
		}()
	}
}

// Close ends all sessions, with the calls that are in progress. The host stays open.
func (s *Server) Close() error {
	s.end()
	s.leaveAll()
	for ss := range s.mcp.Sessions() {
		s.leave(ss)
		_ = ss.Close()
	}
	s.tasks.Wait()
	return nil
}

// receive decides what is answered here, and what by the SDK.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() { // a panic here would end the process, for all clients
			if v := recover(); v != nil {
				res, err = nil, s.recovered(v)
			}
		}()
		if s.opts.Upstreams != nil {
			if res, ok, err := s.relay(ctx, req); ok {
				return res, err
			}
		}
		switch r := req.(type) {
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			return s.initialize(ctx, next, method, r)
		case *mcp.ListToolsRequest:
			r.Params = cmp.Or(r.Params, &mcp.ListToolsParams{})
			s.awaitStarts(ctx, startsTime)
			return serve(ctx, s, r, (*clientSession).listTools)
		case *mcp.CallToolRequest:
			roomy()
			return serve(ctx, s, r, (*clientSession).callTool)
		case *mcp.ServerRequest[*decodedParams]:
			if call := decodedCall(r); call != nil {
				roomy()
				return serve(ctx, s, call, (*clientSession).callTool)
			}
		case *mcp.ServerRequest[*taskParams]:
			return s.taskMethod(ctx, method, r)
		case *mcp.SubscriptionsListenRequest:
			return s.listen(ctx, next, method, r)
		case *mcp.ServerRequest[*mcp.DiscoverParams]:
			return s.discover(ctx, next, method, r)
		case *mcp.ServerRequest[*mcp.SetLoggingLevelParams]:
			s.setLevel(ctx, r.Session, r.Params.Level)
		}
		return next(ctx, method, req)
	}
}

// relay answers requests for what mounted servers have besides tools.
func (s *Server) relay(ctx context.Context, req mcp.Request) (res mcp.Result, ok bool, err error) {
	switch r := req.(type) {
	case *mcp.ListPromptsRequest:
		r.Params = cmp.Or(r.Params, &mcp.ListPromptsParams{})
		res, err = serveItems(ctx, s, r, mcpwire.Prompts, mcpwire.Prompt, r.Params.Cursor)
	case *mcp.ListResourcesRequest:
		r.Params = cmp.Or(r.Params, &mcp.ListResourcesParams{})
		res, err = serveItems(ctx, s, r, mcpwire.Resources, mcpwire.Read, r.Params.Cursor)
	case *mcp.ListResourceTemplatesRequest:
		r.Params = cmp.Or(r.Params, &mcp.ListResourceTemplatesParams{})
		res, err = serveItems(ctx, s, r, mcpwire.Templates, mcpwire.Read, r.Params.Cursor)
	case *mcp.GetPromptRequest:
		res, err = serve(ctx, s, r, (*clientSession).getPrompt)
	case *mcp.ReadResourceRequest:
		res, err = serve(ctx, s, r, (*clientSession).readResource)
	case *mcp.CompleteRequest:
		res, err = serve(ctx, s, r, (*clientSession).complete)
	default:
		return nil, false, nil
	}
	return res, true, err
}

// recovered logs a panic of a request, and returns the error that the client gets.
func (s *Server) recovered(v any) error {
	s.opts.Logger.Error("a request of an MCP client failed", "panic", v, "stack", string(debug.Stack()))
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server has failed; its log says how"}
}

// serve answers a request of a client with its session.
func serve[P mcp.Params](
	ctx context.Context, s *Server, r *mcp.ServerRequest[P],
	answer func(*clientSession, context.Context, *mcp.ServerRequest[P]) (mcp.Result, error),
) (mcp.Result, error) {
	c, err := s.clientOf(ctx, r.Session, r.Extra, r.Params.GetMeta())
	if err != nil {
		return nil, err
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.done()
	res, err := answer(c, ctx, r)
	if err != nil {
		return nil, err
	}
	return c.hold(ctx, r.Extra, res)
}

// Refresh tells clients whose lists of tools are not as before that they have changed. Changes of
// the host's tools are noticed without it.
func (s *Server) Refresh() { s.announceTools() }

// watch tells clients of changes, and ends the sessions of those that are silent.
func (s *Server) watch() {
	changes := s.host.Changes()
	own := 0 // tools of the host's own, by which clients reach what servers have besides tools
	idle := time.NewTicker(max(s.opts.IdleTimeout/4, time.Millisecond))
	defer idle.Stop()
	for {
		select {
		case <-s.ended.Done():
			return
		case _, open := <-changes:
			if !open {
				changes = nil
				continue
			}
			s.list.bindHeaders(s.mcp)
			s.relays()
			s.mu.Lock()
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
			s.announceTools()
			if n := s.ownTools(); n != own {
				own = n
				s.announcePrompts()
				s.announceResources()
			}
		case <-idle.C:
			s.leaveIdle()
		}
	}
}
