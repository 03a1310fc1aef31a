// Package mcpstdio speaks MCP on standard input and output, and lets calls in progress finish
// when the input has ended or the process is told to end. Begin with [Transport].
package mcpstdio

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver"
)

// Transport is an MCP transport on files of this process, or on a connection.
type Transport struct {
	In  io.ReadCloser
	Out io.WriteCloser
	// Whole says that In, such as a file, ends though its writer wants all the answers.
	Whole bool
	// Started is closed when the tools are there, which requests in progress wait for. Nil: they are.
	Started <-chan struct{}
	// Stop is closed when the process is to end: requests that come then are refused.
	Stop <-chan struct{}
	// Drain bounds how long requests in progress may take when the process is to end, and when
	// the input, which was a file, has ended.
	Drain time.Duration

	leave time.Duration // in place of leaveTime; 0: that
}

// leaveTime bounds how long requests in progress may take when the client has closed its end, as
// clients do to leave: it is for answers that are on their way, and for scripts.
const leaveTime = 5 * time.Second

var _ mcp.Transport = (*Transport)(nil)

// Connect implements [mcp.Transport].
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	in := t.In
	if f, ok := in.(*os.File); ok {
		others := []*os.File{os.Stderr}
		if out, ok := t.Out.(*os.File); ok {
			others = append(others, out)
		}
		in = input(f, others...)
	}
	inner, err := (&mcpserver.StdioTransport{In: in, Out: t.Out}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{
		Connection: inner, transport: t, open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	go c.endWhenTold()
	return c, nil
}

// connection knows which requests have no answer yet. The SDK cancels them when the input ends.
type connection struct {
	mcp.Connection
	transport *Transport
	once      sync.Once
	closed    chan struct{}

	mu     sync.Mutex
	open   map[jsonrpc.ID]bool
	ending bool
	idle   chan struct{} // has a token when the last open request was answered
}

// codeEnding is the code, of those that JSON-RPC leaves to servers, of a request that comes too
// late.
const codeEnding = -32000

// Read implements [mcp.Connection].
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err != nil {
			c.finish()
			return nil, err
		}
		r, ok := m.(*jsonrpc.Request)
		if !ok || !r.IsCall() || c.begin(r) {
			return m, nil
		}
		late := &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: codeEnding, Message: "the server ends, and takes no more requests"}}
		if err := c.Connection.Write(ctx, late); err != nil {
			return nil, err
		}
	}
}

// begin notes a request, unless it comes too late. A subscription is not one to wait for.
func (c *connection) begin(r *jsonrpc.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method != "subscriptions/listen" && !c.ending {
		c.open[r.ID] = true
	}
	return !c.ending
}

// Write implements [mcp.Connection].
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.note()
		c.mu.Unlock()
	}
	return err
}

// note puts the token into idle, if no request is open. The caller holds mu.
func (c *connection) note() {
	if len(c.open) > 0 {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default:
	}
}

// Close implements [mcp.Connection].
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// endWhenTold closes the connection when the process is to end, and the open requests are
// answered.
func (c *connection) endWhenTold() {
	select {
	case <-c.closed:
		return
	case <-c.transport.Stop:
	}
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.await(c.transport.Drain, nil, nil)
	_ = c.Close()
}

// finish waits for the answers of open requests although the input has ended, unless the client
// does not read them, or the process is to end.
func (c *connection) finish() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	within := min(c.transport.Drain, cmp.Or(c.transport.leave, leaveTime))
	if c.transport.Whole {
		within = c.transport.Drain
	}
	gone := deserted(ctx, c.transport.Out)
	if c.transport.Started != nil {
		c.await(c.transport.Drain, c.transport.Started, gone)
	}
	c.await(within, c.transport.Stop, gone)
}

// IsFile reports whether f is a regular file.
func IsFile(f *os.File) bool {
	about, err := f.Stat()
	return err == nil && about.Mode().IsRegular()
}

// await waits until no request is open.
func (c *connection) await(within time.Duration, hurry, deserted <-chan struct{}) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-hurry:
			return
		case <-deserted:
			return
		case <-c.closed:
			return
		case <-timer.C:
			return
		}
	}
}
