package output

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Failure is an error as programs read it, the same for every command.
type Failure struct {
	// Code is one of [tool.Code], or one of those that only the command has ([exit.Code]).
	Code    tool.Code `json:"code"`
	Message string    `json:"message"`
	// Hint says what to do next; empty: the message does, or nothing helps.
	Hint string `json:"hint,omitempty"`
	// RetryAfter is how long to wait before trying again. Zero: unknown.
	RetryAfter tool.Duration `json:"retry_after,omitempty"`
	Tool       string        `json:"tool,omitempty"`
	Plugin     string        `json:"plugin,omitempty"`
	// Detail is evidence, such as the end of a plugin's standard error.
	Detail string `json:"detail,omitempty"`
}

// FailureOf returns an error as programs read it.
func FailureOf(err error) Failure {
	e := tool.AsError(err)
	return Failure{
		Code: exit.Code(err), Message: Message(err), Hint: adviceOf(e), RetryAfter: e.RetryAfter, Tool: e.Tool, Plugin: e.Plugin, Detail: e.Detail,
	}
}

// adviceOf returns the advice of an error, and of a full disk that has none what to do about that.
func adviceOf(e *tool.Error) string {
	if advice := e.Advice(); advice != "" || !safefile.IsFull(e) {
		return advice
	}
	return "make space there: the disk, or what this user may use of it, is full"
}

// Failure prints an error as a JSON object with the member error, unless a JSON text was
// printed before: standard output has one.
func (o *Writer) Failure(err error) {
	switch {
	case o.printed || o.err != nil:
	case o.lines:
		if text, err := compact(map[string]Failure{"error": FailureOf(err)}); err == nil {
			o.Line(text)
		}
	default:
		_ = o.JSON(map[string]Failure{"error": FailureOf(err)})
	}
}

// Failures prints errors for people, with the evidence.
func (o *Writer) Failures(all []Failure) {
	for _, f := range all {
		o.Printf("\n%s: %s\n", f.Code, sanitize.Text(f.Message))
		if f.Hint != "" {
			o.Printf("  %s\n", sanitize.Text(f.Hint))
		}
		o.LastWords(f.Detail)
	}
}

// Report prints what a check has found, as JSON; with an error, the member error is added to
// it. It returns err, or else an error of encoding.
func (o *Writer) Report(v any, err error) error {
	if err == nil {
		return o.JSON(v)
	}
	text, bad := compact(v)
	if bad == nil && (len(text) < 2 || text[0] != '{') {
		bad = fmt.Errorf("a report of type %T is not an object", v)
	}
	if bad != nil {
		return bad
	}
	failure, bad := compact(FailureOf(err))
	if bad != nil {
		return bad
	}
	text = text[:len(text)-1]
	if len(text) > 1 {
		text = append(text, ',')
	}
	text = append(append(append(text, `"error":`...), failure...), '}')
	if bad := o.JSON(json.RawMessage(text)); bad != nil {
		return bad
	}
	return err
}

func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Line prints a JSON text as one of several lines.
func (o *Writer) Line(text []byte) {
	o.printed, o.lines = false, true // an error is a line, too
	_, _ = sanitize.JSON(o).Write(append(text[:len(text):len(text)], '\n'))
}
