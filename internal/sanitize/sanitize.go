// Package sanitize makes what strangers say fit to be shown: no control
// characters, nothing hidden, a bounded length. Start with [Line], and with [Text]
// where lines may stay lines; [Hidden] is for texts that are refused instead.
package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Line is s as printable text on one line of at most limit bytes (0: no
// limit). Control characters, invalid UTF-8 and what [Hidden] finds, which could
// rewrite a terminal or hide text, are escaped as Go does; tabs become spaces.
func Line(s string, limit int) string {
	return cut(escape(s, limit, false), limit)
}

// Text is s with the same characters escaped, but its lines and tabs kept.
func Text(s string) string { return escape(s, 0, true) }

// escape stops soon after limit bytes of output (0: no limit).
func escape(s string, limit int, keepLines bool) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	var room [16]byte // for a character that is escaped
	before := rune(' ')
	for i := 0; i < len(s) && (limit <= 0 || b.Len() <= limit); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case keepLines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			q := strconv.AppendQuote(room[:0], s[i:i+n])
			b.Write(q[1 : len(q)-1])
		case conceals(before, r, 0): // though it counts as printable
			q := strconv.AppendQuoteToASCII(room[:0], s[i:i+n])
			b.Write(q[1 : len(q)-1])
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
		before = r
	}
	return b.String()
}

// plain reports whether s is printable ASCII, as nearly all of it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

// Quote is [Line] in double quotes, for texts inside a sentence.
func Quote(s string, limit int) string {
	return `"` + strings.ReplaceAll(Line(strings.TrimRight(s, "\r\n"), limit), `"`, `\"`) + `"`
}

// cut shortens s to at most limit bytes and an ellipsis, at a character's end.
func cut(s string, limit int) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + ellipsis
}
