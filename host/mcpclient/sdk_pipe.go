package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpline"
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
		calls: map[jsonrpc.ID]*openCall{}, broken: make(chan struct{}), over: make(chan struct{}),
	}
	if !p.lenient {
		p.l.direct = c
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
	all     []jsonrpc.Message // scratch of who writes
	broken  chan struct{}     // closed when nothing is written any more
	err     error             // set before broken is closed
	over    chan struct{}     // closed when nothing is read any more
	readErr error             // set before over is closed
	last    atomic.Int64      // counts the requests that are not the SDK's

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
			if c.err = c.writeAll(msg); c.err != nil {
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

// writeAll writes a message and those that came after it, at once if the connection can.
func (c *pipeConn) writeAll(msg jsonrpc.Message) (err error) {
	runtime.Gosched() // others may be about to call
	c.all = append(c.all[:0], msg)
	for len(c.outbox) > 0 {
		c.all = append(c.all, <-c.outbox)
	}
	defer clear(c.all)
	if lines, ok := c.Connection.(*mcpline.Conn); ok {
		return lines.WriteAll(c.all)
	}
	for i := 0; i < len(c.all) && err == nil; i++ {
		err = c.Connection.Write(context.Background(), c.all[i])
	}
	return err
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

// firstDirect is the ID before those of requests that are not the SDK's, which counts from 1.
const firstDirect = 1 << 30

// request sends a request and waits until its answer is kept, without the SDK, which decodes and encodes
// each several times. It returns the error that the server answered, or why there is no answer.
func (c *pipeConn) request(call *openCall, method string, params json.RawMessage) error {
	ctx, raw := call.ctx, float64(firstDirect+c.last.Add(1))
	id, err := jsonrpc.MakeID(raw)
	if err != nil {
		return err
	}
	answered := make(chan error, 1)
	call.direct = answered
	if err := c.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
		return err
	}
	select {
	case err := <-answered:
		return err
	case <-c.over:
		select {
		case err := <-answered: // the last that was read
			return err
		default:
			return c.readErr
		}
	case <-ctx.Done():
		go c.cancel(context.WithoutCancel(ctx), raw, ctx.Err())
		return ctx.Err()
	}
}

// cancel tells the server that a request is not waited for any more.
func (c *pipeConn) cancel(ctx context.Context, id float64, why error) {
	params, err := json.Marshal(&mcp.CancelledParams{RequestID: id, Reason: why.Error()})
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	_ = c.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
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
	msg, err := c.next(ctx)
	if err != nil { // after which the SDK does not read on
		c.readErr = err
		close(c.over)
	}
	return msg, err
}

// next returns the next message that is for the SDK.
func (c *pipeConn) next(ctx context.Context) (jsonrpc.Message, error) {
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
