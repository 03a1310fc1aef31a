package mcpbridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineTransport is a transport on which each message, or batch of them, is a line.
type lineTransport struct {
	in  io.ReadCloser // its lines are not longer than a message may be
	out io.WriteCloser
}

// Connect implements [mcp.Transport].
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	return &lineConn{in: bufio.NewReaderSize(t.in, bufferSize), out: t.out, end: t.in}, nil
}

const bufferSize = 16 << 10

// lineConn is a connection of a lineTransport. Unlike the SDK's own, it reads in the goroutine
// that wants the message, and decodes it once.
type lineConn struct {
	in  *bufio.Reader
	out io.WriteCloser
	end io.Closer

	read []jsonrpc.Message // the rest of a batch

	mu      sync.Mutex
	batches map[jsonrpc.ID]*batch // by the requests in them that are not answered

	closing sync.Once
	err     error // of closing
}

var _ mcp.Connection = (*lineConn)(nil)

// batch is what answers a batch of requests, until it is complete.
type batch struct {
	left    int
	answers [][]byte
}

// Read implements [mcp.Connection]. After a line that is not a message it can go on.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(c.read) > 0 {
			msg := c.read[0]
			c.read = c.read[1:]
			return msg, nil
		}
		line, err := c.in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			err = c.decode(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// decode adds the messages of a line to those that are read.
func (c *lineConn) decode(line []byte) error {
	if line[0] != '[' {
		msg, err := decodeMessage(line)
		if err == nil {
			c.read = append(c.read[:0], msg)
		}
		return err
	}
	var all []json.RawMessage
	if err := unmarshal(line, &all); err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("the batch is empty")
	}
	var read []jsonrpc.Message
	ids := map[jsonrpc.ID]bool{}
	for _, one := range all {
		msg, err := decodeMessage(one)
		if err != nil {
			return err
		}
		if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
			if ids[r.ID] {
				return fmt.Errorf("the batch has two requests with the ID %v", r.ID.Raw())
			}
			ids[r.ID] = true
		}
		read = append(read, msg)
	}
	if err := c.begin(ids); err != nil {
		return err
	}
	c.read = read
	return nil
}

// begin notes the requests of a batch.
func (c *lineConn) begin(ids map[jsonrpc.ID]bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range ids {
		if c.batches[id] != nil {
			return fmt.Errorf("the ID %v of a request in the batch is in use", id.Raw())
		}
	}
	b := &batch{left: len(ids)}
	for id := range ids {
		if c.batches == nil {
			c.batches = map[jsonrpc.ID]*batch{}
		}
		c.batches[id] = b
	}
	return nil
}

// Write implements [mcp.Connection].
func (c *lineConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := encodeMessage(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := msg.(*jsonrpc.Response); ok && c.batches[r.ID] != nil {
		b := c.batches[r.ID]
		delete(c.batches, r.ID)
		b.answers = append(b.answers, line)
		if b.left--; b.left > 0 {
			return nil
		}
		line = slices.Concat([]byte("["), bytes.Join(b.answers, []byte(",")), []byte("]"))
	}
	_, err = c.out.Write(append(line, '\n'))
	return err
}

// Close implements [mcp.Connection].
func (c *lineConn) Close() error {
	c.closing.Do(func() { c.err = errors.Join(c.end.Close(), c.out.Close()) })
	return c.err
}

// SessionID implements [mcp.Connection].
func (c *lineConn) SessionID() string { return "" }
