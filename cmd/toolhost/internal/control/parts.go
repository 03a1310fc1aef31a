package control

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// pieceSize bounds the text or data of one line, in bytes, so that neither end ever holds a
// second copy of an answer, however large it is.
const pieceSize = 64 << 10

// The parts of a result that belong to no block.
const (
	fieldStructured = "structured"
	fieldMeta       = "meta"
)

// block is a block of content by its fields.
type block struct {
	kind   string
	fields []field
}

// field has either text or data. A field with neither is not sent.
type field struct {
	name string
	text string
	data []byte // if it is empty but not nil, it is sent
}

func blockOf(c tool.Content) block {
	switch c := c.(type) {
	case tool.TextContent:
		return block{"text", []field{{name: "text", text: c.Text}, extraField(c.Extra)}}
	case tool.ImageContent:
		return block{"image", []field{{name: "data", data: c.Data}, {name: "mime_type", text: c.MIMEType}, extraField(c.Extra)}}
	case tool.AudioContent:
		return block{"audio", []field{{name: "data", data: c.Data}, {name: "mime_type", text: c.MIMEType}, extraField(c.Extra)}}
	case tool.ResourceContent:
		return block{"resource", []field{
			{name: "uri", text: c.URI}, {name: "mime_type", text: c.MIMEType},
			{name: "text", text: c.Text}, {name: "blob", data: c.Blob}, extraField(c.Extra),
		}}
	case tool.ResourceLink:
		return block{"resource_link", []field{
			{name: "uri", text: c.URI}, {name: "name", text: c.Name},
			{name: "description", text: c.Description}, {name: "mime_type", text: c.MIMEType},
			extraField(c.Extra),
		}}
	}
	return block{kind: fmt.Sprintf("%T", c)}
}

func extraField(e string) field { return field{name: "extra", text: e} }

// sendParts sends a result, one piece a line.
func (l *lines) sendParts(res tool.Result) error {
	for _, c := range res.Content {
		b := blockOf(c)
		if err := l.send(event{Event: eventPart, Block: b.kind}); err != nil {
			return err
		}
		for _, f := range b.fields {
			if err := l.sendField(f); err != nil {
				return err
			}
		}
	}
	if err := l.sendField(field{name: fieldStructured, text: string(res.Structured)}); err != nil {
		return err
	}
	return l.sendField(field{name: fieldMeta, text: string(res.Meta)})
}

func (l *lines) sendField(f field) error {
	for piece := range sanitize.Pieces(f.text, pieceSize) {
		if err := l.sendText(f.name, piece); err != nil {
			return err
		}
	}
	for i := 0; i < len(f.data) || i == 0 && f.data != nil; i += pieceSize {
		if err := l.send(event{Event: eventPart, Field: f.name, Data: f.data[i:min(i+pieceSize, len(f.data))]}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) sendText(name, piece string) error {
	if swells(piece) {
		return l.send(event{Event: eventPart, Field: name, Data: []byte(piece)})
	}
	return l.send(event{Event: eventPart, Field: name, Text: piece})
}

// swells reports whether a text is longer as a JSON string than as base64, or would be changed
// by it.
func swells(s string) bool {
	more := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r':
			more++
		case c < 0x20:
			more += 5
		}
	}
	return more > len(s)/3 || !utf8.ValidString(s)
}

// parts collects the pieces of a result.
type parts struct {
	content    []tool.Content
	last       string            // the type of the block that is being received; empty: none
	fields     map[string][]byte // of that block
	structured []byte
	meta       []byte
}

func (p *parts) add(e event) {
	if e.Block != "" {
		p.endBlock()
		p.last, p.fields = e.Block, map[string][]byte{}
	}
	piece := e.Data
	if e.Text != "" {
		piece = []byte(e.Text)
	}
	switch {
	case e.Field == fieldStructured:
		p.structured = append(p.structured, piece...)
	case e.Field == fieldMeta:
		p.meta = append(p.meta, piece...)
	case e.Field != "" && p.last != "":
		had := p.fields[e.Field]
		if had == nil {
			had = []byte{}
		}
		p.fields[e.Field] = append(had, piece...)
	}
}

// endBlock completes a block. It ignores a block of an unknown type.
func (p *parts) endBlock() {
	f := p.fields
	text := func(name string) string { return string(f[name]) }
	extra := text("extra")
	switch p.last {
	case "text":
		p.content = append(p.content, tool.TextContent{Text: text("text"), Extra: extra})
	case "image":
		p.content = append(p.content, tool.ImageContent{Data: f["data"], MIMEType: text("mime_type"), Extra: extra})
	case "audio":
		p.content = append(p.content, tool.AudioContent{Data: f["data"], MIMEType: text("mime_type"), Extra: extra})
	case "resource":
		p.content = append(p.content, tool.ResourceContent{
			URI: text("uri"), MIMEType: text("mime_type"), Text: text("text"), Blob: f["blob"],
			Extra: extra,
		})
	case "resource_link":
		p.content = append(p.content, tool.ResourceLink{
			URI: text("uri"), Name: text("name"), Description: text("description"), MIMEType: text("mime_type"),
			Extra: extra,
		})
	}
	p.last, p.fields = "", nil
}

// result returns the result once all parts are received.
func (p *parts) result() tool.Result {
	p.endBlock()
	return tool.Result{Content: p.content, Structured: json.RawMessage(p.structured), Meta: json.RawMessage(p.meta)}
}
