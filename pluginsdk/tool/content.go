package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Content is one block of a [Result]: a [TextContent], [ImageContent], [AudioContent],
// [ResourceContent] or [ResourceLink]. These are the kinds that the Model Context
// Protocol defines (specification 2025-06-18, server/tools). What the protocol's blocks have
// besides, such as annotations, is in the Extra of each.
type Content interface {
	// describe returns the block as text.
	describe() string
	kind() string
}

// TextContent is plain text.
type TextContent struct {
	Text  string `json:"text"`
	Extra Extra  `json:"extra,omitempty"`
}

// ImageContent is an image.
type ImageContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mime_type"`
	Extra    Extra  `json:"extra,omitempty"`
}

// AudioContent is a sound recording.
type AudioContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mime_type"`
	Extra    Extra  `json:"extra,omitempty"`
}

// ResourceContent is a resource with its content, which is Blob unless Blob is nil, and
// Text otherwise.
type ResourceContent struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mime_type,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitzero"`
	Extra    Extra  `json:"extra,omitempty"`
}

// ResourceLink is the address of a resource, without its content.
type ResourceLink struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	Extra       Extra  `json:"extra,omitempty"`
}

func (TextContent) kind() string     { return "text" }
func (ImageContent) kind() string    { return "image" }
func (AudioContent) kind() string    { return "audio" }
func (ResourceContent) kind() string { return "resource" }
func (ResourceLink) kind() string    { return "resource_link" }

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
	head := append([]byte(`{"type":"`), c.kind()...)
	if len(body) == len("{}") {
		return append(head, `"}`...), nil
	}
	return append(append(head, `",`...), body[1:]...), nil
}

func unmarshalContent(b []byte) (Content, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "text":
		return decode[TextContent](b)
	case "image":
		return decode[ImageContent](b)
	case "audio":
		return decode[AudioContent](b)
	case "resource":
		return decode[ResourceContent](b)
	case "resource_link":
		return decode[ResourceLink](b)
	}
	return nil, fmt.Errorf("unknown content type %q", head.Type)
}

func decode[T Content](b []byte) (Content, error) {
	var c T
	err := json.Unmarshal(b, &c)
	return c, err
}
