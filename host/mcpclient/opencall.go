package mcpclient

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openCall is a request that waits for its result.
type openCall struct {
	token   int64 // of progress
	ctx     context.Context
	session string              // the ID of the calling session; empty: unknown
	report  func(tool.Progress) // nil: it is not wanted

	mu     sync.Mutex
	id     jsonrpc.ID // of the request that was sent last
	method string
	direct chan error // receives the error of its answer, or nil; nil: the SDK waits for it
	ended  bool
	result json.RawMessage // as the server sent it
	done   float64
	begun  bool // whether there was progress
	after  []func()
}

type callKey struct{}

// callOf returns the request that ctx belongs to; nil: it is not one of ours.
func callOf(ctx context.Context) *openCall {
	c, _ := ctx.Value(callKey{}).(*openCall)
	return c
}

// observed returns a request whose result is kept, and its context.
func observed(ctx context.Context) (*openCall, context.Context) {
	c := &openCall{}
	c.ctx = context.WithValue(ctx, callKey{}, c)
	return c, c.ctx
}

// sent says which request is sent for the call.
func (c *openCall) sent(r *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.method = r.ID, r.Method
}

// keep keeps a result as the server sent it, if it is the call's, and returns what the SDK gets: of a
// tool's nothing, as it is read from what the server sent.
func (c *openCall) keep(r *jsonrpc.Response) jsonrpc.Message {
	if c == nil {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != r.ID {
		return r
	}
	c.result = r.Result
	switch {
	case c.direct != nil:
		c.direct <- r.Error // which has room: a request is answered once
		return nil
	case c.method == mcpwire.MethodCall && r.Error == nil:
		return &jsonrpc.Response{ID: r.ID, Result: emptyResult}
	}
	return r
}

// take returns the result that was kept last.
func (c *openCall) take() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	result := c.result
	c.result = nil
	return result
}

// then has f run when the request has ended.
func (c *openCall) then(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = append(c.after, f)
}

// finish ends the request: nothing is reported from then on.
func (c *openCall) finish() {
	c.mu.Lock()
	c.ended = true
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// progress passes on what grew.
func (c *openCall) progress(p tool.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.report == nil || c.begun && p.Done <= c.done {
		return
	}
	c.begun, c.done = true, p.Done
	c.report(p)
}

// calls are the open calls of a connection, those of tools and of what else may ask back.
type calls struct {
	mu   sync.Mutex
	last int64
	open map[int64]*openCall
}

// begin adds a call.
func (s *calls) begin(ctx context.Context, session string) (*openCall, error) {
	c, _ := observed(ctx)
	c.session, c.report = session, callctx.Get[func(tool.Progress)](ctx, callctx.Progress{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxOpen {
		return nil, tool.Errorf(tool.CodeResourceExhausted, "%d calls of the MCP server are open", len(s.open))
	}
	s.last++
	c.token = s.last
	if s.open == nil {
		s.open = map[int64]*openCall{}
	}
	s.open[c.token] = c
	c.after = append(c.after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c.token)
	})
	return c, nil
}

// of returns the call with a token of progress, which is JSON; nil: there is none.
func (s *calls) of(token json.RawMessage) *openCall {
	text := string(token)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return s.at(int64(n))
}

// at returns the call with a number; nil: it is not open.
func (s *calls) at(token int64) *openCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[token]
}

// only returns an open call of the one caller who has any, and how many callers have. What
// a server asks, or logs, without saying for which call, concerns no other.
func (s *calls) only() (call *openCall, callers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whose := map[any]struct{}{}
	for _, c := range s.open {
		whose[c.caller()] = struct{}{}
		call = c
	}
	if len(whose) != 1 {
		return nil, len(whose)
	}
	return call, 1
}

// caller identifies whose call it is: the same value for the calls of one client's session.
func (c *openCall) caller() any {
	if p := mcpwire.PeerFrom(c.ctx); p != nil {
		return p.ID()
	}
	if c.session != "" {
		return "session " + c.session
	}
	return c
}
