package tool

import (
	"errors"
	"strings"

	"github.com/toolhost/toolhost/internal/ident"
)

// ModelText returns the text of a call's error for a model: the message, followed by the
// hint in parentheses. It leaves out [Error.OperatorHint], and calls the tool by name,
// the name that the model used, which may be an alias. A nil error has no text.
func ModelText(err error, name string) string {
	if err == nil {
		return ""
	}
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	// Errors that wrap e add to its message.
	text := strings.Replace(err.Error(), inParentheses(e.Advice()), "", 1)
	return calledBy(text, e.Tool, name) + inParentheses(e.Hint)
}

// calledBy returns a text with each mention of a tool's name replaced by another name of
// the tool. It replaces whole names only: in a text about fs.read, fs.readme stays.
func calledBy(text, name, other string) string {
	if name == "" || other == "" || name == other || !strings.Contains(text, name) {
		return text
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		begin, end := at+i, at+i+len(name)
		b.WriteString(text[at:begin])
		if inName(text[:begin], false) || inName(text[end:], true) {
			b.WriteString(name)
		} else {
			b.WriteString(other)
		}
		at = end
	}
}

// inName reports whether the text next to a mention continues its name: the end of what
// is before it, or the beginning of what is after it. A dot or dash at the end of a
// sentence does not.
func inName(beside string, after bool) bool {
	if after {
		beside = strings.TrimLeft(beside, ".-")
		return beside != "" && ident.Spells(beside[:1], 1, "_")
	}
	return beside != "" && ident.Spells(beside[len(beside)-1:], 1, "_.-")
}
