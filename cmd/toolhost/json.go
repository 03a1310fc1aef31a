package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// What is larger, in bytes, or deeper is printed as it is: a text that is indented can be
// longer than it was by as many times as it is deep.
const (
	maxIndented = 64 << 10
	maxNesting  = 32
)

// json prints a value for programs, in a form that people can read too, and with nothing
// in it that changes a terminal.
func (o *output) json(v any) error {
	enc := json.NewEncoder(sanitize.JSON(o))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if o.err != nil {
		err = nil // it is told at the end
	}
	return err
}

// outcome prints an outcome, as json does. A large one is printed as it is encoded, as six
// bytes for each control character are soon more than the memory holds.
func (o *output) outcome(out host.Outcome) error {
	large := len(out.Content) > maxIndented || !indentable(out.Structured)
	if !large {
		return o.json(out)
	}
	// A quotation mark within a text is escaped: no text has these marks in it.
	holes := []hole{{`"content": ""`, `"content": `, textOf(out.Content)}}
	out.Content = ""
	if out.Error != nil {
		e := *out.Error
		holes = append(holes, hole{`"message": ""`, `"message": `, textOf(e.Message)})
		e.Message, out.Error = "", &e
	}
	if !indentable(out.Structured) {
		if !json.Valid(out.Structured) {
			return o.json(out) // which says why not
		}
		raw := out.Structured
		holes = append(holes, hole{`"structured": null`, `"structured": `, func(w io.Writer) { _, _ = w.Write(raw) }})
		out.Structured = json.RawMessage("null")
	}
	var frame bytes.Buffer
	if err := newOutput(&frame).json(out); err != nil {
		return err
	}
	w, rest := sanitize.JSON(o), frame.Bytes()
	for _, h := range holes {
		before, after, _ := bytes.Cut(rest, []byte(h.mark))
		_, _ = o.Write(before)
		_, _ = o.WriteString(h.key)
		h.fill(w)
		rest = after
	}
	_, _ = o.Write(rest)
	return nil
}

// hole is a place in a text that is filled when it is written.
type hole struct {
	mark string // what stands there
	key  string // what takes its place, before what fills it
	fill func(io.Writer)
}

// textOf writes a JSON string, piece by piece.
func textOf(s string) func(io.Writer) {
	return func(w io.Writer) {
		_, _ = io.WriteString(w, `"`)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for piece := range sanitize.Pieces(s, maxIndented) {
			b.Reset()
			_ = enc.Encode(piece)                    // a string can be
			_, _ = w.Write(b.Bytes()[1 : b.Len()-2]) // without its quotation marks and the line's end
		}
		_, _ = io.WriteString(w, `"`)
	}
}

// indentable reports whether a JSON text takes little more when it is indented.
func indentable(text []byte) bool {
	if len(text) > maxIndented {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxNesting {
				return false
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return true
}

// prettyJSON is JSON on several lines, printable; what is not JSON, or long, stays as it
// is.
func prettyJSON(text []byte) string {
	var b bytes.Buffer
	if !indentable(text) || json.Indent(&b, text, "", "  ") != nil {
		return sanitize.Text(string(text))
	}
	return sanitize.Text(b.String())
}
