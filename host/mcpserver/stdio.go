package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpline"
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
func (t *StdioTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConn{Conn: mcpline.New(t.In, t.Out)}
	c.Check = c.check
	return c, nil
}

// stdioConn knows the revision that was agreed on, which decides whether there are batches.
type stdioConn struct {
	*mcpline.Conn
	malformed int // in a row
	begins    atomic.Pointer[jsonrpc.ID]
	version   atomic.Pointer[string]
}

// check answers a line that is not a message.
func (c *stdioConn) check(line []byte, messages []jsonrpc.Message, err error) (bool, error) {
	version := stateless
	if v := c.version.Load(); v != nil {
		version = *v
	}
	if answer := refusal(line, messages, err, version); answer != nil {
		if c.malformed++; c.malformed > maxMalformed {
			return false, fmt.Errorf("more than %d lines in a row are not messages", maxMalformed)
		}
		return false, c.WriteLine(answer)
	}
	c.malformed = 0
	for _, m := range messages {
		if r, ok := m.(*jsonrpc.Request); ok && r.Method == "initialize" {
			c.begins.Store(&r.ID)
		}
	}
	return true, nil
}

// Read implements [mcp.Connection].
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Conn.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && c.version.Load() != nil {
		return decode(r), err
	}
	return m, err
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
	return c.Conn.Write(ctx, m)
}
