package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fault is the reason why a text is refused before it is validated.
type fault struct {
	text string
	// at is the path to the fault, for faults that are reported by path and not
	// by byte. The innermost step comes first, because the parser adds steps
	// while it unwinds: valid texts pay nothing for it.
	at      []string
	located bool
	// unsupported reports that the text is JSON of a kind that this package refuses.
	unsupported bool
}

func (f *fault) Error() string {
	if len(f.at) == 0 {
		return f.text
	}
	var b strings.Builder
	for i := len(f.at) - 1; i >= 0; i-- {
		b.WriteString(f.at[i])
	}
	return f.text + " in " + cut(strings.TrimPrefix(b.String(), "."), maxProblemLength)
}

// parser parses one JSON text (RFC 8259) in one pass. The value has the form
// that v5 validates: map[string]any, []any, string, bool, nil and
// [json.Number].
//
// It is stricter than encoding/json, which keeps the last of two equal keys,
// repairs invalid UTF-8 and accepts numbers of any size: two readers of one
// text must not see two different calls.
type parser struct {
	text   string
	pos    int
	levels int // maximum depth of nesting
	values int // values read so far
	fault  *fault
	task   *task
}

// parse parses raw, with a maximum depth of nesting. The error is a *fault,
// also if the task has ended.
func parse(raw []byte, levels int, t *task) (any, error) {
	// Keys and strings without escapes share this one copy.
	p := &parser{text: string(raw), levels: levels, task: t}
	if !utf8.ValidString(p.text) {
		return nil, &fault{text: fmt.Sprintf("invalid UTF-8 at byte %d", firstInvalid(p.text)), unsupported: true}
	}
	v, ok := p.value(0)
	if ok {
		if p.space(); p.pos < len(p.text) {
			p.malformed("text after the value")
		}
	}
	if p.fault != nil {
		return nil, p.fault
	}
	return v, nil
}

func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

func (p *parser) malformed(what string) bool {
	p.fault = &fault{text: fmt.Sprintf("malformed JSON at byte %d: %s", p.pos, what)}
	return false
}

func (p *parser) refuse(format string, args ...any) bool {
	p.fault = &fault{text: fmt.Sprintf(format, args...), unsupported: true}
	return false
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is not space, or 0 at the end; a text must
// not contain 0 there.
func (p *parser) peek() byte {
	p.space()
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// maxValues limits the number of values in a text, including nested ones: a
// value takes about 100 bytes of memory, but only two in a text.
const maxValues = 1 << 20

func (p *parser) value(level int) (any, bool) {
	if p.values++; p.values > maxValues {
		return nil, p.refuse("more than %d values", maxValues)
	}
	if p.task.ended(1) {
		return nil, p.refuse("not read to its end")
	}
	switch c := p.peek(); c {
	case '{', '[':
		if level == p.levels {
			return nil, p.refuse("nested deeper than %d levels", p.levels)
		}
		p.pos++
		if c == '{' {
			return p.object(level + 1)
		}
		return p.array(level + 1)
	case '"':
		s, ok := p.str()
		return s, ok
	case 't':
		return p.word("true", true)
	case 'f':
		return p.word("false", false)
	case 'n':
		return p.word("null", nil)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number()
	}
	return nil, p.malformed("expected a value")
}

func (p *parser) word(word string, v any) (any, bool) {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return nil, p.malformed("expected a value")
	}
	p.pos += len(word)
	return v, true
}

func (p *parser) object(level int) (any, bool) {
	m := map[string]any{}
	if p.peek() == '}' {
		p.pos++
		return m, true
	}
	for {
		if p.peek() != '"' {
			return nil, p.malformed("expected a key")
		}
		key, ok := p.str()
		if !ok {
			return nil, false
		}
		if p.peek() != ':' {
			return nil, p.malformed("expected ':'")
		}
		p.pos++
		v, ok := p.value(level)
		if !ok {
			p.locate(key, -1)
			return nil, false
		}
		// If the map did not grow, it had the key: this saves a look-up.
		size := len(m)
		if m[key] = v; len(m) == size {
			p.refuse("duplicate key %s", quote(key))
			p.fault.located = true
			return nil, false
		}
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return m, true
		default:
			return nil, p.malformed("expected ',' or '}'")
		}
	}
}

func (p *parser) array(level int) (any, bool) {
	items := []any{}
	if p.peek() == ']' {
		p.pos++
		return items, true
	}
	for {
		v, ok := p.value(level)
		if !ok {
			p.locate("", len(items))
			return nil, false
		}
		items = append(items, v)
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return items, true
		default:
			return nil, p.malformed("expected ',' or ']'")
		}
	}
}

// locate adds a step to the path of the fault: index if it is not negative,
// else key.
func (p *parser) locate(key string, index int) {
	if !p.fault.located {
		return
	}
	if index >= 0 {
		p.fault.at = append(p.fault.at, "["+strconv.Itoa(index)+"]")
		return
	}
	p.fault.at = append(p.fault.at, step(key))
}

const (
	maxNumberLength = 100
	maxExponent     = 1000
)

func (p *parser) number() (any, bool) {
	s, ok := p.literal()
	return json.Number(s), ok
}

// literal reads a number and keeps its text. v5 converts it to a big.Rat digit
// by digit, so 1e999999999 would fill the memory.
func (p *parser) literal() (string, bool) {
	start := p.pos
	if p.text[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.text) && p.text[p.pos] == '0' {
		p.pos++
	} else if p.digits() == "" {
		return "", p.malformed("expected a digit")
	}
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		if p.digits() == "" {
			return "", p.malformed("expected a digit")
		}
	}
	exponent := ""
	if p.pos < len(p.text) && p.text[p.pos]|0x20 == 'e' {
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '+' || p.text[p.pos] == '-') {
			p.pos++
		}
		if exponent = p.digits(); exponent == "" {
			return "", p.malformed("expected a digit")
		}
	}
	if p.pos-start > maxNumberLength {
		return "", p.refuse("the number at byte %d has %d characters, more than %d", start, p.pos-start, maxNumberLength)
	}
	if exponent != "" {
		if e, err := strconv.Atoi(exponent); err != nil || e > maxExponent {
			return "", p.refuse("the number at byte %d has an exponent beyond %d", start, maxExponent)
		}
	}
	return p.text[start:p.pos], true
}

func (p *parser) digits() string {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos]-'0' < 10 {
		p.pos++
	}
	return p.text[start:p.pos]
}
