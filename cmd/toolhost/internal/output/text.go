package output

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
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
