// Package truncate cuts texts to a length and says so. See [Text].
package truncate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Mark stands where something was cut off.
const Mark = "[... truncated ...]"

// Text is s, or its first characters with [Mark] on a line behind them. What is
// not UTF-8 counts as one character a byte.
func Text(s string, characters int) (cut string, was bool) {
	n := 0
	for i := range s {
		if n == characters {
			return behind(s[:i]), true
		}
		n++
	}
	return s, false
}

// Bytes is s, or its start of at most so many bytes with [Mark] on a line behind
// it. It splits no character.
func Bytes(s string, size int) (cut string, was bool) {
	if len(s) <= size {
		return s, false
	}
	end := size
	for end > max(0, size-utf8.UTFMax) && !utf8.RuneStart(s[end]) {
		end--
	}
	return behind(s[:end]), true
}

func behind(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + Mark
}

// Counted returns s as valid UTF-8, or its start of at most so many bytes, with a
// line after it that says how many bytes are missing. It splits no character.
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
