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

type resultJSON struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structured,omitempty"`
	IsError    bool              `json:"is_error,omitempty"`
}

// MarshalJSON encodes the result as {"content", "structured", "is_error"}. Each block has
// a "type": "text", "image", "audio", "resource" or "resource_link".
func (r Result) MarshalJSON() ([]byte, error) {
	out := resultJSON{
		Content: make([]json.RawMessage, 0, len(r.Content)), Structured: r.Structured, IsError: r.IsError,
	}
	for _, c := range r.Content {
		b, err := marshalContent(c)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, b)
	}
	return json.Marshal(out)
}

// UnmarshalJSON decodes the form that [Result.MarshalJSON] writes.
func (r *Result) UnmarshalJSON(b []byte) error {
	var in resultJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	out := Result{Structured: in.Structured, IsError: in.IsError}
	for _, raw := range in.Content {
		c, err := unmarshalContent(raw)
		if err != nil {
			return err
		}
		out.Content = append(out.Content, c)
	}
	*r = out
	return nil
}
