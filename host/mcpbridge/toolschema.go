package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// headerKeyword names the HTTP header in which an argument travels too, from revision
// 2026-07-28 on.
const headerKeyword = "x-mcp-header"

// noArguments is the schema of a tool that has none: the host refuses any argument.
var noArguments = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// inputSchema returns a tool's schema as it is, except that it has no header keyword if one of
// them is invalid: a client must not use a tool with such a one, and the SDK panics on it. The
// registry has only schemas whose root is of type object.
func inputSchema(d tool.Definition) json.RawMessage {
	switch {
	case len(d.InputSchema) == 0:
		return noArguments
	case !bytes.Contains(d.InputSchema, []byte(headerKeyword)) || validHeaders(d.InputSchema):
		return d.InputSchema
	}
	return withoutHeaders(d.InputSchema)
}

func isObjectSchema(s tool.Schema) bool {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	return json.Unmarshal(s, &root) == nil && string(root.Type) == `"object"`
}

// headerNode is what counts of a schema for headers.
type headerNode struct {
	Type       json.RawMessage            `json:"type"`
	Header     json.RawMessage            `json:"x-mcp-header"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// validHeaders reports whether the header keywords of a schema are such as the protocol takes:
// tokens, unlike each other, at properties of type string, integer or boolean.
func validHeaders(schema json.RawMessage) bool {
	var root headerNode
	return json.Unmarshal(schema, &root) == nil && headersIn(root.Properties, map[string]bool{})
}

func headersIn(properties map[string]json.RawMessage, seen map[string]bool) bool {
	for _, raw := range properties {
		if !bytes.Contains(raw, []byte(headerKeyword)) {
			continue
		}
		var p headerNode
		if json.Unmarshal(raw, &p) != nil || !headersIn(p.Properties, seen) {
			return false
		}
		if p.Header == nil {
			continue
		}
		var name string
		if json.Unmarshal(p.Header, &name) != nil || !isToken(name) || seen[strings.ToLower(name)] {
			return false
		}
		seen[strings.ToLower(name)] = true
		switch string(p.Type) {
		case `"string"`, `"integer"`, `"boolean"`:
		default:
			return false
		}
	}
	return true
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for _, r := range s {
		alphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return s != ""
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
