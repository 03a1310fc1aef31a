package main

import (
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// firstLine is the first line of a text, printable.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return sanitize.Line(strings.TrimRight(line, " \r"), 0)
}

// shorten cuts s to at most limit characters, the mark that something is
// missing included.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(0, limit-1)]), " ") + "…"
}

// indent puts spaces in front of each line.
func indent(s, by string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if line != "" { // nobody needs spaces at the end of a line
			b.WriteString(by + line)
		}
	}
	return b.String()
}
