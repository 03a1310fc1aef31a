package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Content is one block of a [Result]: a [TextContent], [ImageContent], [AudioContent],
// [ResourceContent] or [ResourceLink]. These are the kinds that the Model Context
// Protocol defines (specification 2025-06-18, server/tools).
//
// Extra of each is what the block says besides its content, for MCP clients: a JSON object of those members
// of the protocol's blocks that have no field here. Clients receive the members as they are. Models, which
// read [Result.Text], do not see them. Empty: nothing.
//
//   - annotations: whom the block is for and how much it matters, {"audience": ["user"], "priority": 1,
//     "lastModified": "2026-11-26T12:00:00Z"}: audience is user, assistant or both, priority from 0,
//     optional, to 1, required
//   - _meta: an object, for the programs at both ends
//   - title, size, icons: of a [ResourceLink]
//   - resource: of a [ResourceContent], {"_meta": {...}}, for the resource in the block
//
// Other members are ignored.
type Content interface {
	// describe returns the block as text.
	describe() string
	kind() string
	extra() string
}

// TextContent is plain text.
type TextContent struct {
	Text  string `json:"text"`
	Extra string `json:"-"`
}

// ImageContent is an image.
type ImageContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mime_type"`
	Extra    string `json:"-"`
}

// AudioContent is a sound recording.
type AudioContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mime_type"`
	Extra    string `json:"-"`
}

// ResourceContent is a resource with its content, which is Blob unless Blob is nil, and
// Text otherwise.
type ResourceContent struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mime_type,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitzero"`
	Extra    string `json:"-"`
}

// ResourceLink is the address of a resource, without its content.
type ResourceLink struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	Extra       string `json:"-"`
}

func (TextContent) kind() string     { return "text" }
func (ImageContent) kind() string    { return "image" }
func (AudioContent) kind() string    { return "audio" }
func (ResourceContent) kind() string { return "resource" }
func (ResourceLink) kind() string    { return "resource_link" }

func (c TextContent) extra() string     { return c.Extra }
func (c ImageContent) extra() string    { return c.Extra }
func (c AudioContent) extra() string    { return c.Extra }
func (c ResourceContent) extra() string { return c.Extra }
func (c ResourceLink) extra() string    { return c.Extra }

func (c TextContent) describe() string { return c.Text }

func (c ImageContent) describe() string {
	return fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data))
}

func (c AudioContent) describe() string {
	return fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data))
}

func (c ResourceContent) describe() string {
	if c.Blob == nil {
		return c.Text
	}
	return fmt.Sprintf("[resource %s %s, %d bytes]", c.URI, c.MIMEType, len(c.Blob))
}

func (c ResourceLink) describe() string {
	if c.Name != "" && c.Name != c.URI {
		return fmt.Sprintf("[link %s (%s)]", c.URI, c.Name)
	}
	return fmt.Sprintf("[link %s]", c.URI)
}

// notValue reports whether c is not one of the content types: a pointer to one, or nil.
func notValue(c Content) bool {
	switch c.(type) {
	case TextContent, ImageContent, AudioContent, ResourceContent, ResourceLink:
		return false
	}
	return true
}

// blockOf returns c, or the value that c points to: pointers to the content types
// implement [Content] too. It returns nil for a nil pointer or interface.
func blockOf(c Content) Content {
	v := reflect.ValueOf(c)
	switch {
	case v.Kind() != reflect.Pointer:
		return c
	case v.IsNil():
		return nil
	}
	return v.Elem().Interface().(Content)
}

func marshalContent(c Content) ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, `{"type":%q`, c.kind())
	if body = body[1 : len(body)-1]; len(body) > 0 {
		out = append(append(out, ','), body...)
	}
	if extra := c.extra(); extra != "" {
		out = append(append(out, `,"extra":`...), extra...)
	}
	return append(out, '}'), nil
}

func unmarshalContent(b []byte) (Content, error) {
	var head struct {
		Type  string          `json:"type"`
		Extra json.RawMessage `json:"extra"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, err
	}
	extra := string(head.Extra)
	if extra == "null" {
		extra = ""
	}
	switch head.Type {
	case "text":
		c := TextContent{Extra: extra}
		err := json.Unmarshal(b, &c)
		return c, err
	case "image":
		c := ImageContent{Extra: extra}
		err := json.Unmarshal(b, &c)
		return c, err
	case "audio":
		c := AudioContent{Extra: extra}
		err := json.Unmarshal(b, &c)
		return c, err
	case "resource":
		c := ResourceContent{Extra: extra}
		err := json.Unmarshal(b, &c)
		return c, err
	case "resource_link":
		c := ResourceLink{Extra: extra}
		err := json.Unmarshal(b, &c)
		return c, err
	}
	return nil, fmt.Errorf("unknown content type %q", head.Type)
}
