package glob

import (
	"errors"
	"slices"
	"unicode/utf8"
)

// charset is a set of characters.
type charset struct {
	not     bool
	ranges  []span
	classes []func(rune) bool
}

type span struct{ low, high rune }

func (s *charset) has(c rune) bool {
	in := slices.ContainsFunc(s.ranges, func(r span) bool { return r.low <= c && c <= r.high }) ||
		slices.ContainsFunc(s.classes, func(class func(rune) bool) bool { return class(c) })
	return in != s.not
}

var errOpenSet = errors.New("a [ has no ]")

// set reads a set after its bracket.
func (r *reader) set() (*charset, error) {
	s := &charset{}
	if c := r.peek(0); c == '!' || c == '^' {
		s.not = true
		r.at++
	}
	// A ] at the start stands for itself, and so does a - without a start of a range: at
	// the start, after a range or after a class.
	for low, first := rune(0), true; ; first = false {
		c := r.peek(0)
		r.at++
		switch {
		case c == 0:
			return nil, errOpenSet
		case c == ']' && !first:
			return s, nil
		case c == '-' && low != 0 && r.peek(0) != 0 && r.peek(0) != ']':
			high, err := r.member()
			if err != nil {
				return nil, err
			}
			s.ranges = append(s.ranges, span{low, high})
			low = 0
		case c == '[' && r.peek(0) == ':':
			known, err := r.class(s)
			if err != nil {
				return nil, err
			}
			if low = 0; !known {
				low = '['
				s.ranges = append(s.ranges, span{low, low})
			}
		default:
			r.at--
			var err error
			if low, err = r.member(); err != nil {
				return nil, err
			}
			s.ranges = append(s.ranges, span{low, low})
		}
	}
}

// member reads one character of a set.
func (r *reader) member() (rune, error) {
	c := r.peek(0)
	r.at++
	if c == '\\' {
		c = r.peek(0)
		r.at++
	}
	if c == 0 {
		return 0, errOpenSet
	}
	return c, nil
}

// class reads a class such as [:digit:] after its first bracket. If it is not a class,
// it reads nothing and returns false.
func (r *reader) class(s *charset) (bool, error) {
	end := 1
	for r.peek(end) != ']' {
		if r.peek(end) == 0 {
			return false, errOpenSet
		}
		end++
	}
	if end < 2 || r.peek(end-1) != ':' {
		return false, nil
	}
	name := string(r.chars[r.at+1 : r.at+end-1])
	class := classes[name]
	if class == nil {
		return false, errors.New("there is no class [:" + name + ":]")
	}
	s.classes = append(s.classes, class)
	r.at += end + 1
	return true, nil
}

// classes has the classes of POSIX, for ASCII.
var classes = map[string]func(rune) bool{
	"alnum":  func(c rune) bool { return isAlpha(c) || isDigit(c) },
	"alpha":  isAlpha,
	"blank":  func(c rune) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c rune) bool { return c < ' ' || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(c rune) bool { return c == ' ' || isGraph(c) },
	"punct":  func(c rune) bool { return isGraph(c) && !isAlpha(c) && !isDigit(c) },
	"space":  func(c rune) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  isUpper,
	"xdigit": func(c rune) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' },
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }
func isLower(c rune) bool { return 'a' <= c && c <= 'z' }
func isUpper(c rune) bool { return 'A' <= c && c <= 'Z' }
func isAlpha(c rune) bool { return isLower(c) || isUpper(c) }
func isGraph(c rune) bool { return ' ' < c && c < utf8.RuneSelf-1 }
