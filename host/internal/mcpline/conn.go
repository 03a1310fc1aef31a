package mcpline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Conn is a connection on which each message, or batch of them, is a line. Unlike the SDK's own,
// it reads in the goroutine that wants the message, decodes it once, and goes on after a line that
// is not one. Make it with [New].
type Conn struct {
	// Check is called with each line that is not blank, and its messages, or why it has none. It
	// reports whether they are handed on; an error ends the connection. Default: a line that has
	// none ends it.
	Check func(line []byte, messages []jsonrpc.Message, err error) (bool, error)
	// Skips has an answer that is too long read to its end, and handed on with [ErrSkipped] in place of
	// what it has, so that it ends one call and not the connection. Default: it ends the connection.
	Skips bool

	in  *bufio.Reader
	out io.WriteCloser
	end io.Closer

	read []jsonrpc.Message // the rest of a batch

	mu      sync.Mutex
	batches map[jsonrpc.ID]*batch // by the requests in them that are not answered
	queued  []byte                // lines that whoever is writing writes next
	spare   []byte                // the array of those before
	writing bool
	waiting int       // those whose lines are not queued
	written sync.Cond // with mu
	broken  error     // why nothing can be written any more

	closing sync.Once
	err     error // of closing
}

var _ mcp.Connection = (*Conn)(nil)

// batch is what answers a batch of requests, until it is complete.
type batch struct {
	left    int
	answers [][]byte
}

// New returns the connection of a stream each way.
func New(in io.ReadCloser, out io.WriteCloser) *Conn {
	c := &Conn{in: bufio.NewReaderSize(in, bufferSize), out: out, end: in}
	c.Check = func(_ []byte, _ []jsonrpc.Message, err error) (bool, error) { return true, err }
	c.written.L = &c.mu
	return c
}

const (
	bufferSize = 16 << 10
	// maxQueued is how many bytes wait for whoever is writing, but for the last line, which is not longer either.
	maxQueued = 64 << 10
)

// MaxMessage bounds a message, in bytes.
const MaxMessage = 16 << 20

// ErrTooLong is the error of a line that is too long to be a message, after which nothing is read, and
// ErrSkipped that of the request whose answer it is, after which the next line is.
var (
	ErrTooLong = fmt.Errorf("it sent a message of more than %d MiB", MaxMessage>>20)
	ErrSkipped = fmt.Errorf("%w", ErrTooLong)
)

// Read implements [mcp.Connection].
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.read) == 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := ReadLine(c.in)
		if errors.Is(err, ErrTooLong) && c.Skips && line[0] == '{' {
			if err := c.skip(line); err != nil {
				return nil, err
			}
			continue
		}
		line = bytes.TrimSpace(line)
		if err == nil || errors.Is(err, io.EOF) && len(line) > 0 { // the last may have no newline
			err = c.take(line)
		}
		if err != nil {
			return nil, err
		}
	}
	msg := c.read[0]
	c.read = c.read[1:]
	return msg, nil
}

// ReadLine returns the next line without its end, in memory of its own; with an error, what is left.
func ReadLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > MaxMessage {
			return line, ErrTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// take makes the messages of a line those that are read.
func (c *Conn) take(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	messages, err := DecodeAll(line)
	ok, end := c.Check(line, messages, err)
	if ok && end == nil && line[0] == '[' {
		if err := c.begin(messages); err != nil {
			ok, end = c.Check(line, nil, err)
		}
	}
	if ok && end == nil {
		c.read = messages
	}
	return end
}

// begin notes the requests of a batch.
func (c *Conn) begin(messages []jsonrpc.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ids := &batch{}, map[jsonrpc.ID]*batch{}
	for _, m := range messages {
		r, ok := m.(*jsonrpc.Request)
		switch {
		case !ok || !r.IsCall():
			continue
		case ids[r.ID] != nil:
			return Malformed(fmt.Sprintf("the batch has two requests with the ID %v", r.ID.Raw()))
		case c.batches[r.ID] != nil:
			return Malformed(fmt.Sprintf("the ID %v of a request in the batch is in use", r.ID.Raw()))
		}
		ids[r.ID] = b
	}
	b.left = len(ids)
	if c.batches == nil {
		c.batches = map[jsonrpc.ID]*batch{}
	}
	maps.Copy(c.batches, ids)
	return nil
}

// Write implements [mcp.Connection].
func (c *Conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.WriteAll([]jsonrpc.Message{msg})
}

// WriteAll writes messages at once.
func (c *Conn) WriteAll(messages []jsonrpc.Message) error {
	var lines []byte
	for _, m := range messages {
		line, err := Encode(m)
		if err != nil {
			return err
		}
		switch line = c.batched(m, line); {
		case line == nil:
		case lines == nil:
			lines = line
		default:
			lines = append(append(lines, '\n'), line...)
		}
	}
	if lines == nil {
		return nil
	}
	return c.WriteLine(lines)
}

// batched returns the line of a message: that of its batch if it is the last answer of one, and nil if it is another.
func (c *Conn) batched(m jsonrpc.Message, line []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := m.(*jsonrpc.Response)
	if !ok || c.batches[r.ID] == nil {
		return line
	}
	b := c.batches[r.ID]
	delete(c.batches, r.ID)
	b.answers = append(b.answers, line)
	if b.left--; b.left > 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(b.answers, []byte(",")), []byte("]"))
}

// WriteLine writes a line that need not be a message.
func (c *Conn) WriteLine(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(line)
}

// write writes a line. Whoever comes first writes for those that come meanwhile, as a write takes as long for many lines
// as for one; they return at once, unless much is queued or their lines are long. The caller holds mu.
func (c *Conn) write(line []byte) error {
	long := len(line) > maxQueued
	for c.writing && (long || len(c.queued) > maxQueued) {
		c.waiting++
		c.written.Wait()
		c.waiting--
	}
	switch {
	case c.broken != nil:
		return c.broken
	case long:
		line = append(line, '\n')
	default:
		c.queued, line = append(append(c.queued, line...), '\n'), nil
		if c.writing {
			return nil
		}
	}
	c.writing = true
	for c.broken == nil && (line != nil || len(c.queued) > 0 && c.waiting == 0) {
		c.mu.Unlock()
		runtime.Gosched() // others may be about to write
		c.mu.Lock()
		next := c.queued
		if c.queued = c.spare; len(next) == 0 {
			next, line = line, nil
		}
		c.mu.Unlock()
		_, err := c.out.Write(next)
		c.mu.Lock()
		c.broken, c.spare = err, nil
		if cap(next) <= 2*maxQueued {
			c.spare = next[:0]
		}
		c.written.Broadcast()
	}
	c.writing = false
	c.written.Broadcast()
	return c.broken
}

// Close implements [mcp.Connection].
func (c *Conn) Close() error {
	c.closing.Do(func() { c.err = errors.Join(c.end.Close(), c.out.Close()) })
	return c.err
}

// SessionID implements [mcp.Connection].
func (c *Conn) SessionID() string { return "" }
