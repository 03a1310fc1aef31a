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
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var out bytes.Buffer
	if copyWithout(&out, dec) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out.Bytes()
}

// copyWithout copies the next value of dec, without members named headerKeyword.
func copyWithout(out *bytes.Buffer, dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		b, err := json.Marshal(t)
		out.Write(b)
		return err
	}
	out.WriteString(open.String())
	for first := true; dec.More(); {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			if key == headerKeyword {
				var dropped json.RawMessage
				if err := dec.Decode(&dropped); err != nil {
					return err
				}
				continue
			}
			b, err := json.Marshal(key)
			if err != nil {
				return err
			}
			separate(out, &first)
			out.Write(b)
			out.WriteByte(':')
		} else {
			separate(out, &first)
		}
		if err := copyWithout(out, dec); err != nil {
			return err
		}
	}
	end, err := dec.Token()
	if err != nil {
		return err
	}
	out.WriteString(end.(json.Delim).String()) //nolint:forcetypeassert // More reported the end of the value
	return nil
}

func separate(out *bytes.Buffer, first *bool) {
	if !*first {
		out.WriteByte(',')
	}
	*first = false
}

// unreachable is the handler of tools that the SDK knows by name only.
func unreachable(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("the call was not answered by the host")
}
