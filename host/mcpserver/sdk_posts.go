package mcpserver

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// cancelSession cancels the calls of a session that its client ends, and what it is asked: the SDK would wait for
// them. It is asked nothing until ended is called.
func (s *Server) cancelSession(r *http.Request) (ended func()) {
	identity := identityOf(r)
	id := r.Header.Get(sessionHeader)
	if id == "" {
		return func() {}
	}
	s.mu.Lock()
	s.leaving[id] = true
	s.unaskRoots(func(ss *mcp.ServerSession) bool { return ss.ID() == id })
	var found *clientSession
	for ss, c := range s.sessions {
		if ss.ID() == id && c.info.Identity == identity {
			found = c
		}
	}
	s.mu.Unlock()
	found.close()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, id)
	}
}

// posts are the HTTP requests of clients that are in progress. The SDK lets the call of a session
// go on when its request is gone, though the result can reach the client no more.
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
