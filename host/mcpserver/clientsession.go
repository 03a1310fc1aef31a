package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// stateless is the first revision of the protocol without sessions.
const stateless = "2026-07-28"

// codeBusy is the code, of those that JSON-RPC leaves to servers, of a refusal for a bound.
const codeBusy = -32000

func refused(format string, args ...any) error {
	return &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

var errUninitialized = mcpwire.InvalidRequest("the session is not initialized")

// clientSession is a client that is served: an MCP session, or the requests without one of an
// identity and a program.
type clientSession struct {
	server    *Server
	info      Client
	session   *host.Session
	canonical bool
	err       error // of the function that was to give the session
	ready     chan struct{}
	loggable  atomic.Bool // it has set a level, for the session
	named     atomic.Pointer[namedCapabilities]

	mu    sync.Mutex
	open  int
	last  time.Time
	calls map[*running]struct{}
	gone  bool
}

// statelessKey identifies a client that has no MCP session.
type statelessKey struct{ identity, name, version string }

// isStateless reports whether a request with such a "_meta" is of a revision without sessions.
func isStateless(meta map[string]any) bool {
	v, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	return v >= stateless
}

func onHTTP(extra *mcp.RequestExtra) bool { return extra != nil && extra.Header != nil }

// clientFrom describes the sender of a request.
func clientFrom(ss *mcp.ServerSession, extra *mcp.RequestExtra) (Client, bool) {
	c := Client{Transport: "stdio"}
	if onHTTP(extra) {
		c.Transport = "http"
		if extra.TokenInfo != nil {
			c.Identity = extra.TokenInfo.UserID
		}
	}
	init := ss.InitializeParams()
	if init == nil {
		return c, false
	}
	if init.ClientInfo != nil {
		c.Name, c.Version = shortened(init.ClientInfo.Name), shortened(init.ClientInfo.Version)
	}
	return c, true
}

// Bounds of what a client says of itself, in bytes: it is kept as long as the client's session.
const (
	maxClientText  = 256      // its name and its version, each
	maxIntroducing = 64 << 10 // the request that begins a session
)

func shortened(s string) string {
	if len(s) > maxClientText {
		return sanitize.Line(s, maxClientText)
	}
	return s
}

// clientOf returns the client that sent a request. The first request makes its session.
func (s *Server) clientOf(
	ctx context.Context, ss *mcp.ServerSession, extra *mcp.RequestExtra, meta map[string]any,
) (*clientSession, error) {
	info, ok := clientFrom(ss, extra)
	if !ok {
		return nil, errUninitialized
	}
	one := onHTTP(extra) && isStateless(meta)
	key := statelessKey{info.Identity, info.Name, info.Version}
	s.mu.Lock()
	if client := s.streams[ss]; client != nil {
		ss = client
	}
	c := s.sessions[ss]
	if one {
		c = s.stateless[key]
	}
	if c == nil {
		if err := s.room(info); err != nil {
			s.mu.Unlock()
			s.turnedAway(info.Identity, err)
			return nil, err
		}
		c = &clientSession{
			server: s, info: info, ready: make(chan struct{}), last: time.Now(), calls: map[*running]struct{}{},
		}
		if one {
			s.stateless[key] = c
		} else {
			s.sessions[ss] = c
		}
		s.mu.Unlock()
		c.start(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !one {
				delete(s.sessions, ss)
			} else if s.stateless[key] == c { // which was idle meanwhile, else
				delete(s.stateless, key)
			}
		})
		if c.err == nil && !one && onHTTP(extra) {
			go func() { _ = ss.Wait(); s.leave(ss) }()
		}
	} else {
		s.mu.Unlock()
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return c, c.err
}

// clients returns all clients. The lock is held.
func (s *Server) clients() []*clientSession {
	return slices.AppendSeq(slices.Collect(maps.Values(s.sessions)), maps.Values(s.stateless))
}

// turnedAway puts on record that a client was refused because of how much there is of it, or of all.
func (s *Server) turnedAway(identity string, why error) {
	s.host.Refuse(host.Caller{Name: identity, Via: viaMCP}, "", tool.Errorf(tool.CodeResourceExhausted, "%w", why))
}

// viaMCP is how requests without a session came in, on record.
const viaMCP = "mcp"

// room refuses a client on HTTP if its caller has as many as it may have. If there are too many of all, it
// makes room. The lock is held.
func (s *Server) room(info Client) error {
	if s.ended.Err() != nil {
		return refused("the server is being stopped; connect to it again later")
	}
	if info.Transport != "http" {
		return nil
	}
	of, all := map[string]int{}, 0
	for _, c := range s.clients() {
		of[c.info.Identity]++
		all++
	}
	most := s.opts.MaxSessions
	if info.Identity != "" && of[info.Identity] >= (most+1)/2 || all >= most && !s.makeRoom(of) {
		return refused("too many sessions are open; end one that is not needed, or try again later")
	}
	return nil
}

// makeRoom ends the session that was idle for longest of the caller with most of them, of which nothing
// is in progress. The lock is held.
func (s *Server) makeRoom(of map[string]int) bool {
	var victim *clientSession
	var since time.Time // of the victim
	for _, c := range s.clients() {
		idle, last := c.idleSince()
		more := victim == nil || of[c.info.Identity] > of[victim.info.Identity]
		if idle && (more || of[c.info.Identity] == of[victim.info.Identity] && last.Before(since)) {
			victim, since = c, last
		}
	}
	if victim == nil || !victim.idle(0) {
		return false
	}
	maps.DeleteFunc(s.stateless, func(_ statelessKey, c *clientSession) bool { return c == victim })
	for ss, c := range s.sessions {
		if c == victim {
			delete(s.sessions, ss)
			s.tasks.Go(func() {
				s.leave(ss)
				_ = ss.Close()
			})
		}
	}
	s.tasks.Go(victim.close)
	return true
}

// start gives the client its session, or forgets it before others who wait for it are told why it has none.
func (c *clientSession) start(ctx context.Context, forget func()) {
	defer close(c.ready)
	s, err := c.server.opts.Session(context.WithoutCancel(ctx), c.info)
	if err == nil && s == nil {
		err = fmt.Errorf("client %.100q was given no session", c.info.Name)
	}
	if err != nil {
		c.err = mcpwire.InvalidRequest("the client is refused: " + err.Error())
		forget()
		return
	}
	c.session = s
	c.canonical = c.server.opts.CanonicalNames != nil && c.server.opts.CanonicalNames(s)
}

// now returns the session as it is now.
func (c *clientSession) now() *host.Session {
	if current := c.server.opts.Current; current != nil {
		return current(c.session)
	}
	return c.session
}

// may reports whether the client may call a tool: it sees it, and its caller has the grant.
func may(session *host.Session, d *tool.Definition) bool {
	return session.Sees(d) && (d.Permission == "" || session.Holds(d.Permission))
}

// begin counts a request of the client.
func (c *clientSession) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.gone:
		return refused("the session has ended; start another")
	case c.open >= c.server.opts.MaxOpen:
		err := refused("%d requests are open, and that is the limit; send more when some are answered", c.open)
		c.server.host.Refuse(c.session.Caller(), "", tool.Errorf(tool.CodeResourceExhausted, "%w", err))
		return err
	}
	c.open++
	return nil
}

func (c *clientSession) done() {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.last = now
}

// leave ends the session of a client that is gone, and its calls.
func (s *Server) leave(ss *mcp.ServerSession) {
	s.mu.Lock()
	c := s.sessions[ss]
	delete(s.sessions, ss)
	delete(s.streams, ss)
	delete(s.listeners, ss)
	delete(s.levels, ss)
	s.mu.Unlock()
	c.close()
	s.unsubscribeAll(ss)
	s.forgetRoots(ss)
}

func (s *Server) leaveAll() {
	s.mu.Lock()
	all := s.clients()
	clear(s.sessions)
	clear(s.stateless)
	s.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}

// leaveIdle ends the sessions of clients that have no MCP session, and are silent.
func (s *Server) leaveIdle() {
	var idle []*clientSession
	s.mu.Lock()
	for key, c := range s.stateless {
		if c.idle(s.opts.IdleTimeout) {
			idle = append(idle, c)
			delete(s.stateless, key)
		}
	}
	s.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

// idleSince reports whether nothing of the client is in progress, and since when.
func (c *clientSession) idleSince() (idle bool, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open == 0 && len(c.calls) == 0, c.last
}

func (c *clientSession) idle(limit time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = c.gone || c.open == 0 && len(c.calls) == 0 && time.Since(c.last) >= limit
	return c.gone
}

// close ends the calls of the client, and its session. A nil client has none.
func (c *clientSession) close() {
	if c == nil {
		return
	}
	<-c.ready
	c.mu.Lock()
	c.gone = true
	for call := range c.calls {
		call.cancel(errGone)
	}
	c.mu.Unlock()
	c.server.forgetAll(c)
	if c.session != nil {
		_ = c.session.Close(context.Background())
	}
}
