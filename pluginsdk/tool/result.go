package tool

import (
	"encoding/json"
	"strings"
)

// Result is a tool's own answer. A tool that fails in its own terms says so
// with IsError and content that explains; that is an answer too, which the
// caller's model should see. What is wrong with the call itself is a Go error.
type Result struct {
	// Content is what a model or a person reads, in order.
	Content []Content
	// Structured is JSON that fits the tool's output schema; empty: none.
	Structured json.RawMessage
	// IsError says that the tool failed and Content tells how.
	IsError bool
}

// Text returns a Result with one block of text.
func Text(s string) Result { return Result{Content: []Content{TextContent{Text: s}}} }

// Failure returns a Result that says how the tool failed.
func Failure(s string) Result {
	r := Text(s)
	r.IsError = true
	return r
}

// Text is the result as one string: blocks of text as they are, others in a
// word and a half, joined by newlines. A result with no content gives its
// structured value, and "nil" where there is none either.
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

// MarshalJSON writes {content, structured, is_error}, each block with its
// "type".
func (r Result) MarshalJSON() ([]byte, error) {
	out := resultJSON{Content: make([]json.RawMessage, 0, len(r.Content)), Structured: r.Structured, IsError: r.IsError}
	for _, c := range r.Content {
		b, err := marshalContent(c)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, b)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
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
