package output

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// JSON that is larger, in bytes, or nested deeper is printed without indentation, which
// would multiply its size by its depth.
const (
	maxIndented = 64 << 10
	maxShown    = 1 << 20 // for people, who do not read more
	maxNesting  = 32
)

// JSON prints a value as indented JSON, without anything that changes a terminal.
func (o *Writer) JSON(v any) error {
	o.printed = true
	enc := json.NewEncoder(sanitize.JSON(o))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if o.err != nil {
		err = nil // it is reported at the end
	}
	return err
}

// printedOutcome is an outcome whose error has the form of all errors.
type printedOutcome struct {
	host.Outcome
	Error *Failure `json:"error,omitempty"`
}

// Outcome prints an outcome as JSON; err is the error from which it was made, or nil. A large
// one is encoded piece by piece: with six bytes for each control character, the whole text
// could exceed the memory.
func (o *Writer) Outcome(out host.Outcome, err error) error {
	p := printedOutcome{Outcome: out}
	switch {
	case out.Error == nil:
	case err == nil:
		p.Error = &Failure{Code: out.Error.Code, Message: out.Error.Message}
	default:
		p.Error = new(FailureOf(err))
	}
	if len(out.Content) <= maxIndented && indentable(out.Structured, maxIndented) {
		return o.JSON(p)
	}
	// Quotation marks within a text are escaped, so no text contains these marks.
	holes := []hole{{`"content": ""`, `"content": `, textOf(out.Content)}}
	p.Content, p.Blocks = "", nil // they would have the text once more
	if !indentable(out.Structured, maxIndented) {
		if !json.Valid(out.Structured) {
			return o.JSON(p) // it reports what is invalid
		}
		raw := out.Structured
		holes = append(holes, hole{`"structured": null`, `"structured": `, func(w io.Writer) { _, _ = w.Write(raw) }})
		p.Structured = json.RawMessage("null")
	}
	if p.Error != nil {
		holes = append(holes, hole{`"message": ""`, `"message": `, textOf(p.Error.Message)})
		p.Error.Message = ""
	}
	o.printed = true
	var frame bytes.Buffer
	if err := New(&frame).JSON(p); err != nil {
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

// hole is a place in a text that is filled while the text is written.
type hole struct {
	mark string // the text to replace
	key  string // written in its place, before fill
	fill func(io.Writer)
}

// textOf returns a function that writes s as a JSON string, piece by piece.
func textOf(s string) func(io.Writer) {
	return func(w io.Writer) {
		_, _ = io.WriteString(w, `"`)
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for piece := range sanitize.Pieces(s, maxIndented) {
			b.Reset()
			_ = enc.Encode(piece)                    // strings can always be encoded
			_, _ = w.Write(b.Bytes()[1 : b.Len()-2]) // without the quotation marks and the newline
		}
		_, _ = io.WriteString(w, `"`)
	}
}

// indentable reports whether a JSON text of at most so many bytes stays small when it is
// indented.
func indentable(text []byte, most int) bool {
	if len(text) > most {
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

// PrettyJSON returns indented JSON, printable. A text that is long or not JSON is not indented.
func PrettyJSON(text []byte) string {
	var b bytes.Buffer
	if !indentable(text, maxShown) || json.Indent(&b, text, "", "  ") != nil {
		return sanitize.Text(string(text))
	}
	return sanitize.Text(b.String())
}
