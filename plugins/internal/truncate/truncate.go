// Package truncate cuts texts to a length, and marks those that it cut. See [Text].
package truncate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Mark replaces what was cut off.
const Mark = "[... truncated ...]"

// Text returns s, or its first characters and a line with [Mark]. A byte that is not
// UTF-8 counts as a character.
func Text(s string, characters int) (cut string, was bool) {
	n := 0
	for i := range s {
		if n == characters {
			return withMark(s[:i]), true
		}
		n++
	}
	return s, false
}

// Bytes returns s, or its start of at most size bytes and a line with [Mark]. It does
// not split a character.
func Bytes(s string, size int) (cut string, was bool) {
	if len(s) <= size {
		return s, false
	}
	end := size
	for end > max(0, size-utf8.UTFMax) && !utf8.RuneStart(s[end]) {
		end--
	}
	return withMark(s[:end]), true
}

func withMark(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + Mark
}

// Counted returns s as valid UTF-8, or its start of at most size bytes and a line that
// says how many bytes are missing. It does not split a character.
func Counted(s string, size int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= size {
		return s
	}
	end := size
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s\n[... %d more bytes truncated ...]", s[:end], len(s)-end)
}
