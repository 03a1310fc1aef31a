package lines

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Options control how a pattern is read.
type Options struct {
	Literal    bool // the pattern is plain text
	IgnoreCase bool
}

// Compile compiles a pattern for text within one line: a regular expression in the
// syntax of Go, which is RE2's.
func Compile(pattern string, o Options) (*regexp.Regexp, error) {
	switch {
	case pattern == "":
		return nil, errors.New("the pattern is empty (give the text to search for)")
	case strings.ContainsAny(pattern, "\n\r"):
		return nil, errors.New("the pattern has a line break, and a match lies within one line (search for one of the lines)")
	}
	expression := pattern
	if o.Literal {
		expression = regexp.QuoteMeta(pattern)
	}
	if o.IgnoreCase {
		expression = "(?i)" + expression
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("malformed pattern %q: %s (write a regular expression in RE2's syntax, or search for plain text)",
			pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// Column returns the column of a byte in a line, in characters from 1.
func Column(text []byte, offset int) int { return utf8.RuneCount(text[:offset]) + 1 }

// Text returns a line, or part of one, as valid UTF-8.
func Text(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// shown bounds how much of a line is shown, and before how much of that precedes the
// match in a longer line, in bytes.
const (
	shown  = 512
	before = 128
)

// Around returns the line as it is shown for a match at an offset: whole, or the part
// around the match with "..." for what is left out.
func Around(text []byte, offset int) string {
	if len(text) <= shown {
		return Text(text)
	}
	start := 0
	if offset > shown-before {
		start = offset - before
	}
	end := min(start+shown, len(text))
	for i := 0; i < utf8.UTFMax && start > 0 && !utf8.RuneStart(text[start]); i++ {
		start--
	}
	for i := 0; i < utf8.UTFMax && end < len(text) && !utf8.RuneStart(text[end]); i++ {
		end++
	}
	out := Text(text[start:end])
	if start > 0 {
		out = "..." + out
	}
	if end < len(text) {
		out += "..."
	}
	return out
}
