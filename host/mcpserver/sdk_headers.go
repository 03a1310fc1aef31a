package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// headerKeyword names the HTTP header in which an argument travels too, from revision
// 2026-07-28 on.
const headerKeyword = "x-mcp-header"

// inputSchema returns a tool's schema as it is, except that it has no header keyword if the SDK
// panics on one of them: a client must not use a tool with such a one. The registry has only
// schemas whose root is of type object.
func inputSchema(d *tool.Definition) json.RawMessage {
	switch {
	case len(d.InputSchema) == 0:
		return json.RawMessage(jsontree.NoArguments)
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
	root, err := jsontree.Parse(schema)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	jsontree.Each(root, func(_ string, o *jsontree.Object) { o.Drop(headerKeyword) })
	return jsontree.Encode(root)
}

// bindHeaders makes the tools whose arguments travel in HTTP headers too known to the SDK, which
// then compares the headers with the arguments. Other tools it does not know: lists and calls
// are answered here.
func (c *catalogue) bindHeaders(to *mcp.Server) {
	now := map[string]json.RawMessage{}
	for _, t := range c.tools() {
		if t.headers != nil {
			now[t.Def.Name], now[t.Alias] = t.headers, t.headers
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.headers {
		if now[name] == nil {
			to.RemoveTools(name)
			delete(c.headers, name)
		}
	}
	for name, schema := range now {
		if name != "" {
			to.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, unreachable)
			c.headers[name] = true
		}
	}
}

// unreachable is the handler of tools that the SDK knows by name only.
func unreachable(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("the call was not answered by the host")
}
