package schema

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str parses a string, starting at its opening quote.
func (p *parser) str() (string, bool) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			s := p.text[start:p.pos]
			p.pos++
			return s, true
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.malformed("control character in a string")
		default:
			p.pos++
		}
	}
	return "", p.malformed("unterminated string")
}

// escaped parses the rest of a string that began at start, from its first
// backslash.
func (p *parser) escaped(start int) (string, bool) {
	var b strings.Builder
	b.WriteString(p.text[start:p.pos])
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return b.String(), true
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			b.WriteRune(r)
		case c < ' ':
			return "", p.malformed("control character in a string")
		default:
			plain := p.pos
			for p.pos < len(p.text) && p.text[p.pos] != '"' && p.text[p.pos] != '\\' && p.text[p.pos] >= ' ' {
				p.pos++
			}
			b.WriteString(p.text[plain:p.pos])
		}
	}
	return "", p.malformed("unterminated string")
}

// escape parses one escape. It refuses half of a surrogate pair, which is not a
// character and which readers interpret differently.
func (p *parser) escape() (rune, bool) {
	if p.pos+1 >= len(p.text) {
		p.pos = len(p.text)
		return 0, p.malformed("unterminated string")
	}
	c := p.text[p.pos+1]
	if c == 'u' {
		r, ok := p.hex(p.pos)
		if !ok {
			return 0, p.malformed("expected four hexadecimal digits after \\u")
		}
		if utf16.IsSurrogate(r) {
			low, ok := p.hex(p.pos + len(`\u0000`))
			pair := utf16.DecodeRune(r, low)
			if !ok || pair == utf8.RuneError {
				p.malformed(p.text[p.pos:p.pos+len(`\u0000`)] + " is half of a surrogate pair")
				p.fault.unsupported = true // JSON allows it
				return 0, false
			}
			p.pos += 2 * len(`\u0000`)
			return pair, true
		}
		p.pos += len(`\u0000`)
		return r, true
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		return 0, p.malformed("unknown escape in a string")
	}
	p.pos += 2
	return rune("\"\\/\b\f\n\r\t"[i]), true
}

// hex returns the code unit of the \u escape at pos, if there is one.
func (p *parser) hex(pos int) (rune, bool) {
	if pos+len(`\u0000`) > len(p.text) || p.text[pos] != '\\' || p.text[pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.text[pos+2 : pos+len(`\u0000`)]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
