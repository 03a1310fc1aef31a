package mcpjson

import (
	"encoding/json"
	"errors"
	"fmt"

	fast "github.com/segmentio/encoding/json"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// decode decodes JSON whose depth is bounded, in one pass and without copies of what stays JSON. It takes and
// refuses what encoding/json does, apart from names of members in another case.
func decode(raw json.RawMessage, v any) error {
	_, err := fast.Parse(raw, v, fast.DontMatchCaseInsensitiveStructFields|fast.DontCopyRawMessage)
	return err
}

// Result converts a result of tools/call as a server sent it, one that has been decoded as a message.
func Result(raw json.RawMessage) (tool.Result, error) {
	var in struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
		Meta       json.RawMessage   `json:"_meta"`
	}
	if err := decode(raw, &in); err != nil {
		return tool.Result{}, fmt.Errorf("its result cannot be read: %w", err)
	}
	out := tool.Result{Structured: Present(in.Structured), IsError: in.IsError, Meta: Unreserved(in.Meta)}
	for i, block := range in.Content {
		c, err := contentOf(block)
		if err != nil {
			return tool.Result{}, fmt.Errorf("block %d of its result cannot be read: %w", i+1, err)
		}
		out.Content = append(out.Content, c)
	}
	return out, nil
}

// contentOf converts a block of content.
func contentOf(raw json.RawMessage) (tool.Content, error) {
	var in struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Data        []byte `json:"data"`
		MIMEType    string `json:"mimeType"`
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Members
		Resource *struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     string  `json:"text"`
			Blob     *[]byte `json:"blob"`

			Meta json.RawMessage `json:"_meta"`
		} `json:"resource"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	if in.Resource != nil {
		in.Inside = in.Resource.Meta
	}
	extra := in.extra(in.Type)
	switch in.Type {
	case "text":
		return tool.TextContent{Text: in.Text, Extra: extra}, nil
	case "image":
		return tool.ImageContent{Data: in.Data, MIMEType: in.MIMEType, Extra: extra}, nil
	case "audio":
		return tool.AudioContent{Data: in.Data, MIMEType: in.MIMEType, Extra: extra}, nil
	case "resource_link":
		return tool.ResourceLink{
			URI: in.URI, Name: in.Name, Description: in.Description, MIMEType: in.MIMEType, Extra: extra,
		}, nil
	case "resource":
		r := in.Resource
		if r == nil {
			return nil, errors.New("a resource without its content")
		}
		out := tool.ResourceContent{URI: r.URI, MIMEType: r.MIMEType, Text: r.Text, Extra: extra}
		if r.Blob != nil {
			out.Blob = append([]byte{}, *r.Blob...)
		}
		return out, nil
	case "":
		return nil, errors.New("it has no type")
	}
	// A newer revision may have more kinds. A model can read what it is.
	return tool.TextContent{Text: string(raw)}, nil
}
