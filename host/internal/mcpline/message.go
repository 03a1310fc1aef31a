package mcpline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	fast "github.com/segmentio/encoding/json"
)

// Messages are decoded as the SDK decodes them, with the library that it uses, which takes names
// of members as they are written. The SDK's own function copies each message, and what is in
// it, to buffers of 32 KiB.

// maxDepth is how deep JSON may be, as in the SDK: a stack is not without end.
const maxDepth = 1000

var errTooDeep = fmt.Errorf("it has more than %d levels", maxDepth)

// Unmarshal decodes one JSON value, whose raw parts stay where they are.
func Unmarshal(data []byte, v any) error {
	if tooDeep(data) {
		return errTooDeep
	}
	rest, err := fast.Parse(data, v, fast.DontMatchCaseInsensitiveStructFields|fast.DontCopyRawMessage)
	if err == nil && FirstByte(rest) != 0 {
		err = errors.New("more than one JSON value")
	}
	return err
}

// tooDeep reports whether objects and arrays are in each other more than maxDepth times.
func tooDeep(data []byte) bool {
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) <= maxDepth { // as in nearly all messages
		return false
	}
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case text && b == '\\':
			i++
		case b == '"':
			text = !text
		case text:
		case b == '{', b == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case b == '}', b == ']':
			depth--
		}
	}
	return false
}

// message is what messages of all kinds have.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *jsonrpc.Error  `json:"error"`
}

// maxID is the largest number that is an ID: programs take others for the next one that a float64 has.
const maxID = 1<<53 - 1

// names are those of the members of an object, of which most have few.
type names struct {
	few  [8][]byte
	n    int
	many map[string]bool // all, of an object that has more
}

// add adds a name, and reports whether it was there.
func (s *names) add(name []byte) (twice bool) {
	for _, other := range s.few[:s.n] {
		if bytes.Equal(other, name) {
			return true
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return false
	}
	if s.many == nil {
		s.many = map[string]bool{}
	}
	twice = s.many[string(name)]
	s.many[string(name)] = true
	return twice
}

// unquote returns the text that a JSON string stands for, which most often is what it has between its quotes.
func unquote(quoted []byte) []byte {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return inside
	}
	var s string
	_ = json.Unmarshal(quoted, &s)
	return []byte(s)
}

// doubled finds a member that is twice in a message, or in its params, which are JSON. Which of the
// two counts is not the same in all programs.
func doubled(message []byte) (name string, twice bool) {
	var seen [3]names // by how deep objects are in each other
	depth, key, params, inside := 0, false, false, false
	for i := 0; i < len(message); i++ {
		switch message[i] {
		case '{':
			depth++
			if key = depth == 1 || depth == 2 && params; key {
				seen[depth], inside = names{}, depth == 2
			}
		case '[':
			depth++
			key = false
		case '}', ']':
			depth--
			key = false
		case ',':
			key = depth == 1 || depth == 2 && inside
		case '"':
			end := i + 1
			for message[end] != '"' {
				if message[end] == '\\' {
					end++
				}
				end++
			}
			if key {
				name := unquote(message[i : end+1])
				if seen[depth].add(name) {
					return string(name), true
				}
				if key = false; depth == 1 {
					params, inside = string(name) == "params", false
				}
			}
			i = end
		}
	}
	return "", false
}

// Decode decodes a message, whose parts stay where they are.
func Decode(data []byte) (jsonrpc.Message, error) {
	var m message
	if err := Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if m.Version != "2.0" {
		return nil, fmt.Errorf("the version of JSON-RPC is %.20q, not 2.0", m.Version)
	}
	if n, ok := m.ID.(float64); ok && (n != math.Trunc(n) || math.Abs(n) > maxID) {
		return nil, Malformed("the id of a message is a text, or an integer of at most 2^53-1")
	}
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil {
		return nil, err
	}
	if m.Method != nil {
		if name, twice := doubled(data); twice {
			return nil, Malformed(fmt.Sprintf("the member %.100q is twice in a message", name))
		}
		r := &jsonrpc.Request{ID: id, Params: m.Params}
		return r, Unmarshal(m.Method, &r.Method)
	}
	if !id.IsValid() {
		return nil, errors.New("neither a method nor an ID")
	}
	r := &jsonrpc.Response{ID: id, Result: m.Result}
	if m.Error != nil {
		r.Error = m.Error
	}
	return r, nil
}

// Malformed says what is wrong with a batch as such, or with a message that its sender may take for
// another one than it is here.
type Malformed string

func (e Malformed) Error() string { return string(e) }

// DecodeAll returns the messages of a text: one, or those of a batch.
func DecodeAll(text []byte) (messages []jsonrpc.Message, err error) {
	all := []json.RawMessage{text}
	if FirstByte(text) == '[' {
		all = nil
		if err := Unmarshal(text, &all); err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, Malformed("the batch is empty")
		}
	}
	for _, one := range all {
		m, err := Decode(one)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// FirstByte returns the first byte of a JSON value; 0: there is none.
func FirstByte(value []byte) byte {
	if value = bytes.TrimLeft(value, " \t\r\n"); len(value) > 0 {
		return value[0]
	}
	return 0
}

// Encode encodes a message on one line. What is encoded already is not encoded again, as
// the SDK does.
func Encode(msg jsonrpc.Message) ([]byte, error) {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if m.Error == nil && len(m.Result) > 0 {
			return envelope(m.ID, "", "result", m.Result)
		}
	case *jsonrpc.Request:
		if len(m.Params) > 0 {
			return envelope(m.ID, m.Method, "params", m.Params)
		}
	}
	return jsonrpc.EncodeMessage(msg)
}

// envelope returns a message whose content is JSON.
func envelope(id jsonrpc.ID, method, name string, content []byte) ([]byte, error) {
	b := make([]byte, 0, len(content)+len(method)+80)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id.IsValid() {
		text, err := json.Marshal(id.Raw())
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"id":`...), text...)
	}
	if method != "" {
		text, err := json.Marshal(method)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"method":`...), text...)
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	if bytes.ContainsAny(content, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, content); err != nil {
			return nil, err
		}
		content = line.Bytes()
	}
	return append(append(b, content...), '}'), nil
}
