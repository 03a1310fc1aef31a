package glob

import (
	"errors"
	"unicode/utf8"
)

// Pattern is a compiled pattern without alternatives.
type Pattern struct {
	tokens   []token
	bytewise bool
}

type kind byte

const (
	literal kind = iota
	one          // any character but a slash
	set          // one character of a set
	star         // any number of characters but slashes
	deep         // anything
	dirs         // nothing, or anything that ends with a slash
)

type token struct {
	kind    kind
	char    rune
	escaped bool // the character had a backslash
	set     *charset
}

// CompileGit parses a pattern of gitignore(5), which matches bytes instead of
// characters and has no braces. Like git it reads ** as more than * only between
// slashes, where the literal start of a pattern counts as one that ends with a slash.
func CompileGit(pattern string) (Pattern, error) {
	if len(pattern) > maxLength {
		return Pattern{}, errors.New("it is too long")
	}
	return compile(pattern, true)
}

// reader reads the characters of a pattern.
type reader struct {
	chars []rune
	at    int
}

// peek returns the character that far ahead, or 0 after the end of the pattern.
func (r *reader) peek(ahead int) rune {
	if r.at+ahead < len(r.chars) {
		return r.chars[r.at+ahead]
	}
	return 0
}

func compile(pattern string, bytewise bool) (Pattern, error) {
	p := Pattern{bytewise: bytewise}
	r := &reader{chars: units(pattern, bytewise)}
	plain := true // nothing but literal characters yet
	for r.at < len(r.chars) {
		t, err := r.token(p.canSpanDirs(bytewise && plain))
		if err != nil {
			return Pattern{}, err
		}
		p.tokens = append(p.tokens, t)
		plain = plain && t.kind == literal && !t.escaped
	}
	return p, nil
}

// canSpanDirs reports whether a ** here can match directories.
func (p Pattern) canSpanDirs(plain bool) bool {
	if plain || len(p.tokens) == 0 {
		return true
	}
	last := p.tokens[len(p.tokens)-1]
	return last.kind == dirs || last.kind == literal && last.char == '/'
}

func (r *reader) token(spans bool) (token, error) {
	c := r.peek(0)
	r.at++
	switch c {
	case '?':
		return token{kind: one}, nil
	case '*':
		return r.stars(spans), nil
	case '[':
		s, err := r.set()
		return token{kind: set, set: s}, err
	case '\\':
		if c = r.peek(0); c == 0 {
			return token{}, errors.New(`it ends with a \`)
		}
		r.at++
		return token{kind: literal, char: c, escaped: true}, nil
	}
	return token{kind: literal, char: c}, nil
}

// stars reads the stars after the first. spans says whether ** can match directories.
func (r *reader) stars(spans bool) token {
	if r.peek(0) != '*' {
		return token{kind: star}
	}
	for r.peek(0) == '*' {
		r.at++
	}
	switch next := r.peek(0); {
	case !spans:
		return token{kind: star}
	case next == 0, next == '\\' && r.peek(1) == '/':
		return token{kind: deep}
	case next == '/':
		r.at++
		return token{kind: dirs}
	}
	return token{kind: star}
}

// notUTF8 is added to bytes that are not UTF-8, so that they do not equal a character:
// it is past the end of Unicode.
const notUTF8 = utf8.MaxRune + 1

// units returns the bytes or characters that a pattern or a path is compared by.
func units(s string, bytewise bool) []rune {
	out := make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case bytewise:
			r, size = rune(s[i]), 1
		case r == utf8.RuneError && size == 1:
			r = notUTF8 + rune(s[i])
		}
		out = append(out, r)
		i += size
	}
	return out
}
