package tool

import (
	"encoding/json"
	"strings"
)

// Result is a tool's answer. A tool that fails in its own terms returns a Result with
// IsError, which the caller's model should see. A call that could not be carried out
// returns a Go error instead, an [*Error].
type Result struct {
	// Content has the blocks that a model or a person reads, in order.
	Content []Content
	// Structured is JSON that fits the tool's output schema. Empty: none.
	Structured json.RawMessage
	// IsError reports that the tool failed; Content says how.
	IsError bool
	// Meta is the "_meta" of the result, for MCP clients: a JSON object of at most 64 levels,
	// which they receive as it is. Models do not see it. Keys that the protocol reserves,
	// such as io.modelcontextprotocol/..., are not passed on. Empty: none.
	Meta json.RawMessage
}

// Text returns a Result with one block of text.
func Text(s string) Result { return Result{Content: []Content{TextContent{Text: s}}} }

// Failure returns a Result with IsError and one block of text, which says how the tool
// failed.
func Failure(s string) Result {
	r := Text(s)
	r.IsError = true
	return r
}

// Text returns the result as one string: blocks of text unchanged, others in brief, such
// as "[image image/png, 4 bytes]", joined by newlines. Without content it returns the
// structured value, or "nil" if the result has neither.
func (r Result) Text() string {
	if len(r.Content) == 0 {
		if len(r.Structured) > 0 {
			return string(r.Structured)
		}
		return "nil"
	}
	if len(r.Content) == 1 {
		return r.Content[0].describe()
	}
	texts := make([]string, len(r.Content))
	for i, c := range r.Content {
		texts[i] = c.describe()
	}
	return strings.Join(texts, "\n")
}

// blocks are the content blocks of a [Result] as JSON.
type blocks []Content

// MarshalJSON implements [json.Marshaler].
func (b blocks) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, len(b))
	for i, c := range b {
		var err error
		if out[i], err = marshalContent(c); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *blocks) UnmarshalJSON(text []byte) error {
	var in []json.RawMessage
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	var out blocks
	for _, raw := range in {
		c, err := unmarshalContent(raw)
		if err != nil {
			return err
		}
		out = append(out, c)
	}
	*b = out
	return nil
}

type resultJSON struct {
	Content    blocks          `json:"content"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`
	Meta       json.RawMessage `json:"meta,omitempty"`
}

// MarshalJSON encodes the result as {"content", "structured", "is_error", "meta"}, with the
// content as an array of objects with a "type": "text", "image", "audio", "resource" or "resource_link".
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(resultJSON{r.Content, r.Structured, r.IsError, r.Meta})
}

// UnmarshalJSON decodes the form that [Result.MarshalJSON] writes.
//
// # Errors
//
// Plain ones for JSON of another form, and for an unknown type.
func (r *Result) UnmarshalJSON(b []byte) error {
	var in resultJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*r = Result{in.Content, in.Structured, in.IsError, in.Meta}
	return nil
}
