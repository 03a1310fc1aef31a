package lines

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// Bounds of what [Scanner.Numbered] returns.
const (
	MaxLines      = 1000
	maxCharacters = 50_000
	MaxLineText   = 2000 // characters
)

// Numbered returns the lines from start to end, both included and counted from 1, each
// after its number; a zero start is the first, a zero end the last. It returns at most
// 1,000 lines and 50,000 characters, and then says at which line to go on. A line longer
// than 2,000 characters is cut off. Name is the file's, for the reader.
func (s *Scanner) Numbered(name string, start, end int) (string, error) {
	if start == 0 {
		start = 1
	}
	if start < 1 || end < 0 || end > 0 && end < start {
		return "", fmt.Errorf("there are no lines from %d to %d (lines count from 1, and the last must not be before the first)",
			start, end)
	}
	var b strings.Builder
	characters := 0
	for n := 1; end == 0 || n <= end; n++ {
		l, err := s.Next()
		if errors.Is(err, io.EOF) {
			return ended(&b, name, n-1, start)
		}
		if err != nil {
			return "", fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		if n < start {
			continue
		}
		text, cut := truncate.Text(Text(l.Text), MaxLineText)
		if cut || l.Cut {
			text = strings.TrimSuffix(text, "\n"+truncate.Mark) + " " + truncate.Mark
		}
		line := fmt.Sprintf("%6d\t%s\n", n, text)
		if characters += utf8.RuneCountInString(line); n-start >= MaxLines || characters > maxCharacters {
			fmt.Fprintf(&b, "%s (go on with line %d)\n", truncate.Mark, n)
			break
		}
		b.WriteString(line)
	}
	return b.String(), nil
}

// ended returns the result for a file that has no more lines.
func ended(b *strings.Builder, name string, last, start int) (string, error) {
	switch {
	case last == 0 && start == 1:
		return name + " is empty.\n", nil
	case last < start:
		return "", fmt.Errorf("%s has %d lines, and line %d is after the last", name, last, start)
	}
	return b.String(), nil
}
