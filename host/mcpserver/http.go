package mcpserver

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	sessionHeader = "Mcp-Session-Id"
	// postHeader numbers requests inside of this process: handlers of the SDK see the headers
	// of a request, and not its context.
	postHeader = "Toolhost-Request"
)

// Handler returns the endpoint of clients on HTTP, of all revisions of the protocol. It does not
// authenticate: put the SDK's auth.RequireBearerToken in front, or the like, whose TokenInfo has
// the caller's name as UserID. It checks the Host header of requests that come in on loopback,
// and no Origin.
func (s *Server) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	common := mcp.StreamableHTTPOptions{
		Logger: quiet(s.opts.Logger), MaxRequestBodyBytes: s.opts.MaxRequestBytes, SessionTimeout: s.opts.IdleTimeout,
	}
	old, latest := common, common
	latest.Stateless, latest.PropagateRequestCancellation = true, true
	sessions := mcp.NewStreamableHTTPHandler(get, &old)
	requests := mcp.NewStreamableHTTPHandler(get, &latest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ended.Err() != nil {
			http.Error(w, "the server is being stopped; connect to it again later", http.StatusServiceUnavailable)
			return
		}
		if !s.admit(w, r) {
			return
		}
		r.Header.Del(postHeader)
		// Discovery begins a conversation, and its version is not always known then.
		if r.Header.Get(versionHeader) >= stateless || r.Header.Get(methodHeader) == "server/discover" {
			requests.ServeHTTP(w, r)
			return
		}
		switch r.Method {
		case http.MethodPost:
			defer s.posts.open(r)()
		case http.MethodDelete:
			s.cancelSession(r)
		}
		sessions.ServeHTTP(w, r)
	})
}

// cancelSession cancels the calls of a session that its client ends: the SDK would wait for
// them.
func (s *Server) cancelSession(r *http.Request) {
	identity := identityOf(r)
	id := r.Header.Get(sessionHeader)
	s.mu.Lock()
	var found *clientSession
	for ss, c := range s.sessions {
		if id != "" && ss.ID() == id && c.info.Identity == identity {
			found = c
		}
	}
	s.mu.Unlock()
	found.close()
}

// posts are the HTTP requests of clients with sessions that are in progress. The SDK lets a
// call go on when its request is gone, though the result can reach the client no more.
type posts struct {
	last     atomic.Uint64
	byNumber sync.Map
}

func (p *posts) open(r *http.Request) (done func()) {
	key := strconv.FormatUint(p.last.Add(1), 36)
	r.Header.Set(postHeader, key)
	p.byNumber.Store(key, r.Context())
	return func() { p.byNumber.Delete(key) }
}

// of returns the context of the HTTP request that brought a message.
func (p *posts) of(extra *mcp.RequestExtra) context.Context {
	if ctx, ok := p.byNumber.Load(extra.Header.Get(postHeader)); ok {
		return ctx.(context.Context) //nolint:forcetypeassert // see open
	}
	return ended
}

// ended is the context of a request that is gone.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
