package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// StdioTransport is a client on standard input and output, or on two pipes, for [Server.Run]. The
// SDK's own ends the connection at the first line that is not JSON. Here, the client is told of a
// line that is not a message, and the connection goes on, unless the client sends many of them
// without one that is.
type StdioTransport struct {
	// In and Out are what the client writes and reads. Required.
	In  io.ReadCloser
	Out io.WriteCloser
}

var _ mcp.Transport = (*StdioTransport)(nil)

// maxMalformed is how many lines in a row may be malformed.
const maxMalformed = 100

// Connect implements [mcp.Transport].
func (t *StdioTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c := &stdioConn{out: &wholeWrites{WriteCloser: t.Out}}
	c.in = &lines{in: t.In, message: c.message}
	inner, err := (&lineTransport{c.in, c.out}).Connect(ctx)
	c.Connection = inner
	return c, err
}

// wholeWrites keeps what is written at a time together.
type wholeWrites struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements [io.Writer].
func (w *wholeWrites) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

// stdioConn knows the revision that was agreed on, which decides whether there are batches.
type stdioConn struct {
	mcp.Connection
	in        *lines
	out       io.WriteCloser
	malformed int // in a row
	begins    atomic.Pointer[jsonrpc.ID]
	version   atomic.Pointer[string]
}

// message reports whether a line is one, and answers it if it is not.
func (c *stdioConn) message(line []byte) (bool, error) {
	version := stateless
	if v := c.version.Load(); v != nil {
		version = *v
	}
	_, answer := parse(line, version)
	if answer == nil {
		c.malformed = 0
		return true, nil
	}
	if c.malformed++; c.malformed > maxMalformed {
		return false, fmt.Errorf("more than %d lines in a row are not messages", maxMalformed)
	}
	_, err := c.out.Write(append(answer, '\n'))
	return false, err
}

// Read implements [mcp.Connection].
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		switch {
		case err == nil:
			if r, ok := m.(*jsonrpc.Request); ok && r.Method == "initialize" {
				c.begins.Store(&r.ID)
			}
			return m, nil
		case ctx.Err() != nil, errors.Is(err, io.EOF), c.in.failed.Load():
			return nil, err
		}
		// A batch with an ID that is in use.
		if _, err := c.out.Write(append(errorWithoutID(jsonrpc.CodeInvalidRequest, err.Error()), '\n')); err != nil {
			return nil, err
		}
	}
}

// Write implements [mcp.Connection].
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if id := c.begins.Load(); id != nil {
		if r, ok := m.(*jsonrpc.Response); ok && r.ID == *id {
			c.begins.Store(nil)
			var result struct {
				Version string `json:"protocolVersion"`
			}
			if json.Unmarshal(r.Result, &result) == nil && result.Version != "" {
				c.version.Store(&result.Version)
			}
		}
	}
	return c.Connection.Write(ctx, m)
}
