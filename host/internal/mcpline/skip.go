package mcpline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxSkipped   = 256 << 20 // bytes of a line that is read to its end
	maxSkippedID = 64        // bytes of an ID
	headOfLine   = 4 << 10   // bytes of a line that is not an answer, which are told
)

// skip reads the rest of a line that is too long, of which nothing is kept but whose answer it is.
func (c *Conn) skip(begun []byte) error {
	head := bytes.Clone(begun[:headOfLine])
	var m members
	m.scan(begun)
	for n, over := len(begun), begun[len(begun)-1] == '\n'; !over; {
		part, err := c.in.ReadSlice('\n')
		m.scan(part)
		if n += len(part); n > maxSkipped {
			return ErrTooLong
		}
		if over = err == nil; !over && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	var value any
	if json.Unmarshal(m.id, &value) == nil && !m.method {
		if id, err := jsonrpc.MakeID(value); err == nil && id.IsValid() {
			c.read = []jsonrpc.Message{&jsonrpc.Response{ID: id, Error: ErrSkipped}}
			return nil
		}
	}
	_, err := c.Check(head, nil, ErrTooLong)
	return err
}

// members finds the ID of a message in its text, which comes in parts.
type members struct {
	depth         int
	text, escaped bool
	value         bool   // of a member of the message; else its name
	name          []byte // of that member, as it is written
	id            []byte
	method        bool // it has one, so that it does not answer anything
}

func (m *members) scan(part []byte) {
	for _, b := range part {
		switch {
		case m.escaped:
			m.escaped = false
		case m.text:
			m.escaped, m.text = b == '\\', b != '"'
		case b == '"':
			m.text = true
		case b == '{', b == '[':
			m.depth++
			continue
		case b == '}', b == ']':
			m.depth--
			continue
		case m.depth == 1 && b == ':':
			m.value = true
			m.method = m.method || string(m.name) == `"method"`
			continue
		case m.depth == 1 && b == ',':
			m.value, m.name = false, m.name[:0]
			continue
		case b == ' ', b == '\t':
			continue
		}
		switch {
		case m.depth != 1:
		case !m.value && len(m.name) < maxSkippedID:
			m.name = append(m.name, b)
		case m.value && len(m.id) < maxSkippedID && string(m.name) == `"id"`:
			m.id = append(m.id, b)
		}
	}
}
