package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pipe is a transport over one stream each way. Its connection keeps the results of calls as
// they were sent, paces what the server says unasked, and never makes a caller wait for a
// server that does not read.
type pipe struct {
	mcp.Transport
	l       *link
	lenient bool // whether what is not a message is an error, after which there are others
}

// Connect implements [mcp.Transport].
func (p *pipe) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &pipeConn{
		Connection: conn, l: p.l, lenient: p.lenient, outbox: make(chan jsonrpc.Message, maxUnread),
		calls: map[jsonrpc.ID]*openCall{}, broken: make(chan struct{}),
	}
	go c.write()
	return c, nil
}

// maxUnread is how many messages wait for a server that does not read them.
const maxUnread = 64

type pipeConn struct {
	mcp.Connection
	l       *link
	lenient bool
	outbox  chan jsonrpc.Message
	broken  chan struct{} // closed when nothing is written any more
	err     error         // set before broken is closed

	mu       sync.Mutex
	calls    map[jsonrpc.ID]*openCall
	requests int // of the server that are not answered
}

// write writes messages until the connection ends.
func (c *pipeConn) write() {
	defer close(c.broken)
	for {
		select {
		case msg := <-c.outbox:
			if c.err = c.Connection.Write(context.Background(), msg); c.err != nil {
				// Whoever waits for an answer is told by the end of the connection.
				c.l.end(c.err)
				_ = c.Close()
				return
			}
		case <-c.l.life.Done():
			c.err = context.Cause(c.l.life)
			return
		}
	}
}

// Write implements [mcp.Connection].
func (c *pipeConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if call := callOf(ctx); call != nil && m.IsCall() {
			call.sent(m)
			c.mu.Lock()
			c.calls[m.ID] = call
			c.mu.Unlock()
			call.then(func() { c.forget(m.ID) })
		}
	case *jsonrpc.Response:
		c.mu.Lock()
		c.requests--
		c.mu.Unlock()
	}
	select {
	case c.outbox <- msg:
		return nil
	case <-c.broken:
		return fmt.Errorf("%w: %w", io.ErrClosedPipe, c.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *pipeConn) forget(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// maxRequests bounds the requests of a server that wait for their answers to be read.
const maxRequests = 256

// Read implements [mcp.Connection].
func (c *pipeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			if !c.lenient || ctx.Err() != nil || errors.Is(err, io.EOF) {
				return nil, err
			}
			if err := c.l.malformed(err); err != nil {
				return nil, err
			}
			continue
		}
		var call *openCall
		c.mu.Lock()
		switch m := msg.(type) {
		case *jsonrpc.Response:
			call = c.calls[m.ID]
			delete(c.calls, m.ID)
		case *jsonrpc.Request:
			if m.IsCall() {
				c.requests++
			}
		}
		full := c.requests > maxRequests
		c.mu.Unlock()
		if full {
			return nil, fmt.Errorf("it sent more than %d requests without reading the answers", maxRequests)
		}
		if msg, err = c.l.receive(call, msg); msg != nil || err != nil {
			return msg, err
		}
	}
}
