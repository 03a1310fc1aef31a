package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// The SDK has one subscriptions/listen for each of its sessions: a second one makes it forget
// the first. On HTTP each is a session of its own. streams makes it so on other transports: what
// belongs to a subscription goes over a connection inside of the client's.
type streams struct {
	mcp.Transport
	// open serves a connection of a subscription, and returns at once.
	open func(mcp.Transport)
}

// Connect implements [mcp.Transport].
func (s *streams) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := s.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &streamConn{Connection: conn, open: s.open, all: map[jsonrpc.ID]*stream{}}, nil
}

// streamConn is a client's connection, without its subscriptions.
type streamConn struct {
	mcp.Connection
	open func(mcp.Transport)

	mu  sync.Mutex
	all map[jsonrpc.ID]*stream
}

const (
	methodListen    = "subscriptions/listen"
	methodCancelled = "notifications/cancelled"
	// maxStreams bounds the subscriptions of a client.
	maxStreams = 64
)

// Read implements [mcp.Connection].
func (c *streamConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			c.closeAll()
			return nil, err
		}
		req, ok := msg.(*jsonrpc.Request)
		switch {
		case ok && req.Method == methodListen && req.IsCall():
			if err := c.begin(req); err != nil {
				if err := c.Write(ctx, &jsonrpc.Response{ID: req.ID, Error: err}); err != nil {
					return nil, err
				}
			}
		case ok && req.Method == methodCancelled && c.cancel(req):
		default:
			return msg, nil
		}
	}
}

// begin gives a subscription a connection.
func (c *streamConn) begin(req *jsonrpc.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := mayListen(req); err != nil {
		return err
	}
	switch {
	case len(c.all) >= maxStreams:
		return refused("%d subscriptions are open, and that is the limit; cancel one", len(c.all))
	case c.all[req.ID] != nil:
		return mcpwire.InvalidRequest("the ID of the request is in use")
	}
	s := &stream{of: c, id: req.ID, in: make(chan jsonrpc.Message, 2), closed: make(chan struct{})}
	s.in <- req
	c.all[req.ID] = s
	c.open(s)
	return nil
}

// cancel passes on the cancellation of a subscription, and reports whether it is one.
func (c *streamConn) cancel(req *jsonrpc.Request) bool {
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &p) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(p.ID)
	if err != nil {
		return false
	}
	c.mu.Lock()
	s := c.all[id]
	c.mu.Unlock()
	if s == nil {
		return false
	}
	select {
	case s.in <- req:
	default: // it was cancelled before
	}
	return true
}

func (c *streamConn) closeAll() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.all))
	c.mu.Unlock()
	for _, s := range all {
		_ = s.Close()
	}
}

// Close implements [mcp.Connection].
func (c *streamConn) Close() error {
	c.closeAll()
	return c.Connection.Close()
}

// stream is the connection of a subscription.
type stream struct {
	of     *streamConn
	id     jsonrpc.ID
	in     chan jsonrpc.Message
	once   sync.Once
	closed chan struct{}
}

// Connect implements [mcp.Transport].
func (s *stream) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// Read implements [mcp.Connection].
func (s *stream) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-s.in:
		return msg, nil
	case <-s.closed:
	case <-ctx.Done():
	}
	return nil, io.EOF
}

// Write implements [mcp.Connection]. The response ends the subscription.
func (s *stream) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		defer func() { _ = s.Close() }()
	}
	return s.of.Write(ctx, msg)
}

// Close implements [mcp.Connection].
func (s *stream) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.of.mu.Lock()
		delete(s.of.all, s.id)
		s.of.mu.Unlock()
	})
	return nil
}

// SessionID implements [mcp.Connection].
func (s *stream) SessionID() string { return "" }
