package mcpserver

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// resultComplete is the type of a result that asks nothing, from revision 2026-07-28 on.
const resultComplete = "complete"

// errorKey is the member of a result's "_meta" that classifies an error of the host.
const errorKey = "toolhost/error"

// errorMeta is the value of errorKey.
type errorMeta struct {
	Code       tool.Code `json:"code"`
	Call       string    `json:"call,omitempty"` // as in the record
	RetryAfter float64   `json:"retryAfterSeconds,omitempty"`
}

// toolResult is the result of tools/call. It is not the SDK's type, which would encode large
// content twice.
type toolResult struct {
	mcp.ResultBase
	ResultType string          `json:"resultType,omitempty"`
	Content    []contentBlock  `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// contentBlock is a block of content of any kind.
type contentBlock struct {
	Type        string         `json:"type"`
	Text        *string        `json:"text,omitempty"`
	Data        []byte         `json:"data,omitempty"`
	MIMEType    string         `json:"mimeType,omitempty"`
	Resource    *resourceBlock `json:"resource,omitempty"`
	URI         string         `json:"uri,omitempty"`
	Name        string         `json:"name,omitempty"`
	Description string         `json:"description,omitempty"`
	*mcpjson.Members
}

type resourceBlock struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *[]byte `json:"blob,omitempty"`

	Meta json.RawMessage `json:"_meta,omitempty"`
}

func textBlock(s string) contentBlock { return contentBlock{Type: "text", Text: &s} }

func blockOf(c tool.Content) contentBlock {
	switch c := c.(type) {
	case tool.TextContent:
		return contentBlock{Type: "text", Text: &c.Text, Members: mcpjson.MembersOf(c.Extra)}
	case tool.ImageContent:
		return contentBlock{Type: "image", Data: c.Data, MIMEType: c.MIMEType, Members: mcpjson.MembersOf(c.Extra)}
	case tool.AudioContent:
		return contentBlock{Type: "audio", Data: c.Data, MIMEType: c.MIMEType, Members: mcpjson.MembersOf(c.Extra)}
	case tool.ResourceContent:
		r := &resourceBlock{URI: c.URI, MIMEType: c.MIMEType}
		if c.Blob != nil {
			r.Blob = &c.Blob
		} else {
			r.Text = &c.Text
		}
		extra := mcpjson.MembersOf(c.Extra)
		if extra != nil {
			r.Meta = extra.Inside
		}
		return contentBlock{Type: "resource", Resource: r, Members: extra}
	case tool.ResourceLink:
		name := c.Name
		if name == "" { // the protocol requires one
			name = c.URI
		}
		return contentBlock{
			Type: "resource_link", URI: c.URI, Name: name, Description: c.Description, MIMEType: c.MIMEType,
			Members: mcpjson.MembersOf(c.Extra),
		}
	}
	return textBlock("[content of an unknown kind]")
}

// resultOf is how a call ended, for the client. An unknown tool that the client itself named, and
// not an argument of tools.call, is an error of the protocol; all else is a result that a model can
// read.
func resultOf(out host.Outcome, res tool.Result, err error, latest, named bool) (mcp.Result, error) {
	r := &toolResult{IsError: !out.Success}
	if latest {
		r.ResultType = resultComplete
	}
	switch {
	case err == nil:
		r.Content = make([]contentBlock, len(res.Content), len(res.Content)+1)
		for i, c := range res.Content {
			r.Content[i] = blockOf(c)
		}
		structured := res.Structured
		if len(structured) > 0 && (latest || structured[0] == '{') {
			r.Structured = structured
		}
		// Clients that do not know structured content have it as text.
		if len(structured) > 0 && len(r.Content) == 0 {
			r.Content = append(r.Content, textBlock(string(structured)))
		}
	case out.Error.Code == tool.CodeNotFound && out.Metadata.Tool == "" && named:
		return nil, invalid("%s", out.Content)
	case latest && lacks(err) != nil:
		return nil, lacks(err)
	default:
		r.Content = []contentBlock{textBlock(out.Content + " [" + string(out.Error.Code) + "]")}
		r.Meta = mcp.Meta{errorKey: errorMeta{
			Code: out.Error.Code, Call: out.ID, RetryAfter: time.Duration(out.Error.RetryAfter).Seconds(),
		}}
	}
	if meta := mcpjson.Unreserved(res.Meta); err == nil && len(meta) > 0 {
		return withMeta(r, meta), nil
	}
	return r, nil
}

// lacks returns the error of a mounted server that needs a client with other capabilities; nil:
// it is another's.
func lacks(err error) error {
	if theirs, ok := errors.AsType[*jsonrpc.Error](err); ok && theirs.Code == mcp.CodeMissingRequiredClientCapabilities {
		return theirs
	}
	return nil
}
