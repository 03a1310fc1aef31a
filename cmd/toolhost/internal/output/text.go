package output

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
)

// FirstLine returns the first line of a text, printable.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return sanitize.Line(strings.TrimRight(line, " \r"), 0)
}

// Shorten cuts s to at most limit characters, including the mark that something is missing.
func Shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(0, limit-1)]), " ") + "…"
}

// Fill breaks the lines of each paragraph again, so that none is longer than width columns.
// Lines that begin with a space stay as they are.
func Fill(s string, width int) string {
	var lines []string
	open := false // the last line may be continued
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			lines, open = append(lines, line), false
			continue
		}
		for word := range strings.SplitSeq(line, " ") {
			if n := len(lines) - 1; open && utf8.RuneCountInString(lines[n])+1+utf8.RuneCountInString(word) <= width {
				lines[n] += " " + word
			} else {
				lines, open = append(lines, word), true
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Wrapped returns text with its lines broken as the terminal is wide, less a margin. Without a
// terminal, the text stays as it is.
func (o *Writer) Wrapped(s string, margin int) string {
	if o.width <= 2*margin {
		return s
	}
	return Fill(s, min(o.width, maxLine)-margin)
}

// maxLine is the width of long texts, in columns: longer lines are hard to read.
const maxLine = 100

// Indent puts by in front of each line that is not empty.
func Indent(s, by string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = by + line
		}
	}
	return strings.Join(lines, "\n")
}

// OrDash returns s, or a dash if it is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// NumberOrDash returns n, or a dash for 0.
func NumberOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// Milliseconds formats a duration, such as 12.3 ms.
func Milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// DidYouMean returns the hint that proposes names.
func DidYouMean(names []string) string { return "did you mean " + strings.Join(names, " or ") + "?" }

// Suggest returns the hint that proposes those of the names that a word is like, or else another hint.
func Suggest(word string, names []string, otherwise string) string {
	if near := suggest.Nearest(word, names, 3); len(near) > 0 {
		return DidYouMean(near)
	}
	return otherwise
}
