package audit

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// sieve finds lines that cannot pass a filter without decoding them, which takes thirty times as
// long. It looks for what the encoder would have written, so a line with escapes, which may say
// the same in another way, has to be decoded.
type sieve struct {
	since   time.Time
	needles [][]byte // all have to be there
	text    []byte   // in lower case, in the line in whatever case; nil: any
	lower   []byte   // scratch
}

func newSieve(f *Filter) *sieve {
	s := &sieve{since: f.Since}
	add := func(key, value, end string) {
		if value != "" {
			s.needles = append(s.needles, append(appendText([]byte(key), value, maxText), end...))
		}
	}
	if len(f.Events) == 1 {
		add(`,"event":"`, f.Events[0], `"`)
	}
	add(`,"tool":"`, f.Tool, `"`)
	add(`,"caller":"`, f.Caller, `"`)
	add(`,"account":"`, f.Account, `"`)
	add(`,"via":"`, f.Via, `"`)
	add(`,"client":"`, f.Client, "")
	add(`,"session":"`, f.Session, "")
	add(`,"call":"`, f.Call, "")
	add(`,"parent":"`, f.Parent, `"`)
	if f.Code == CodeOK || f.SlowerThan > 0 || f.Phase != "" {
		s.needles = append(s.needles, []byte(`,"event":"`+End+`"`))
	}
	if f.Code != CodeOK {
		add(`,"code":"`, string(f.Code), `"`)
	}
	plain := func(r rune) bool { return r >= ' ' && r < utf8.RuneSelf && r != '"' && r != '\\' }
	if f.Text != "" && bytes.IndexFunc([]byte(f.Text), func(r rune) bool { return !plain(r) }) < 0 {
		s.text = bytes.ToLower([]byte(f.Text))
	}
	return s
}

// passes reports whether a line may pass the filter.
func (s *sieve) passes(line []byte) bool {
	if s.older(line) {
		return false
	}
	if len(s.needles) == 0 && s.text == nil || bytes.IndexByte(line, '\\') >= 0 {
		return true
	}
	for _, needle := range s.needles {
		if !bytes.Contains(line, needle) {
			return false
		}
	}
	if s.text == nil {
		return true
	}
	s.lower = s.lower[:0]
	for _, c := range line {
		if c >= utf8.RuneSelf { // some of these have lower cases in ASCII
			return true
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		s.lower = append(s.lower, c)
	}
	return bytes.Contains(s.lower, s.text)
}

// older reports whether a line is from before the earliest time.
func (s *sieve) older(line []byte) bool {
	if s.since.IsZero() {
		return false
	}
	at, ok := timeOf(line)
	return ok && at.Before(s.since)
}

// timeOf returns the time of a line; false: it says none. Nothing that a caller chooses stands
// before it.
func timeOf(line []byte) (time.Time, bool) {
	text, ok := valueOf(line, `,"time":"`)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at, err == nil
}

// eventOf returns the event and the call of a line, as they are encoded.
func eventOf(line []byte) (event, call []byte) {
	event, _ = valueOf(line, `,"event":"`)
	call, _ = valueOf(line, `,"call":"`)
	return event, call
}

// valueOf returns the text after the first occurrence of a key.
func valueOf(line []byte, key string) ([]byte, bool) {
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return nil, false
	}
	line = line[i+len(key):]
	i = bytes.IndexByte(line, '"')
	return line[:max(0, i)], i >= 0
}
