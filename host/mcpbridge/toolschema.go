package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// headerKeyword names the HTTP header in which an argument travels too, from revision
// 2026-07-28 on.
const headerKeyword = "x-mcp-header"

// noArguments is the schema of a tool that has none: the host refuses any argument.
var noArguments = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// inputSchema returns a tool's schema as it is, except that it has no header keyword if the SDK
// panics on one of them: a client must not use a tool with such a one. The registry has only
// schemas whose root is of type object.
func inputSchema(d tool.Definition) json.RawMessage {
	switch {
	case len(d.InputSchema) == 0:
		return noArguments
	case !mayHaveHeaders(d.InputSchema) || taken(d.InputSchema):
		return d.InputSchema
	}
	return withoutHeaders(d.InputSchema)
}

// mayHaveHeaders reports whether a schema may have a header keyword, whose characters can be
// escaped.
func mayHaveHeaders(schema json.RawMessage) bool {
	return bytes.Contains(schema, []byte(headerKeyword)) || bytes.Contains(schema, []byte(`\u`))
}

// typed is what the SDK reads of a schema. If a type is not a text, it reads nothing, and compares
// no header.
type typed struct {
	Type       string           `json:"type"`
	Properties map[string]typed `json:"properties"`
}

// taken reports whether the SDK takes a tool with such a schema. Only the SDK knows: rules of our
// own would differ in how keywords are spelled, and what it panics on ends the process.
func taken(schema json.RawMessage) (ok bool) {
	if json.Unmarshal(schema, &typed{}) != nil {
		return false
	}
	defer func() { ok = recover() == nil }()
	mcp.NewServer(&mcp.Implementation{}, nil).AddTool(&mcp.Tool{Name: "t", InputSchema: schema}, unreachable)
	return true
}

func isObjectSchema(s tool.Schema) bool {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	return json.Unmarshal(s, &root) == nil && string(root.Type) == `"object"`
}

// withoutHeaders returns a schema without its header keywords; all else stays, in its order.
func withoutHeaders(schema json.RawMessage) json.RawMessage {
	c := newCopier(schema, func(_, key string) bool { return key == headerKeyword })
	if c.value("") != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return c.out.Bytes()
}

// copier copies JSON without the members of objects that drop reports, of which it is told the
// key of the object itself, too; all else stays, in its order.
type copier struct {
	dec     *json.Decoder
	drop    func(in, key string) bool
	out     bytes.Buffer
	dropped bool
}

func newCopier(text json.RawMessage, drop func(in, key string) bool) *copier {
	c := &copier{dec: json.NewDecoder(bytes.NewReader(text)), drop: drop}
	c.dec.UseNumber()
	return c
}

// value copies the next value, which has a key.
func (c *copier) value(in string) error {
	t, err := c.dec.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return c.scalar(t)
	}
	c.out.WriteString(open.String())
	for first := true; c.dec.More(); {
		key := ""
		if open == '{' {
			t, err := c.dec.Token()
			if err != nil {
				return err
			}
			if key, _ = t.(string); c.drop(in, key) {
				var value json.RawMessage
				if err := c.dec.Decode(&value); err != nil {
					return err
				}
				c.dropped = true
				continue
			}
		}
		if !first {
			c.out.WriteByte(',')
		}
		first = false
		if open == '{' {
			if err := c.scalar(key); err != nil {
				return err
			}
			c.out.WriteByte(':')
		}
		if err := c.value(key); err != nil {
			return err
		}
	}
	end, err := c.dec.Token()
	if err != nil {
		return err
	}
	c.out.WriteString(end.(json.Delim).String()) //nolint:forcetypeassert // More reported the end of the value
	return nil
}

func (c *copier) scalar(v any) error {
	b, err := json.Marshal(v)
	c.out.Write(b)
	return err
}

// unreachable is the handler of tools that the SDK knows by name only.
func unreachable(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("the call was not answered by the host")
}
