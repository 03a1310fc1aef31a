package tools

import (
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// How well a name matches, best first.
const (
	matchWhole  = iota // the name equals the pattern
	matchPrefix        // the name starts with it
	matchWord          // a word of the name starts with it, as Client in HTTPClient
	matchWithin        // the name contains it
)

// matcher finds names by a pattern. It ignores case unless the pattern says otherwise.
type matcher struct {
	pattern string
	re      *regexp.Regexp
	literal bool // the pattern is not a regular expression, and stands for itself
	dotted  bool // names are matched with their packages' names too
}

// dotted matches qualified names. Only such patterns are matched with the names of
// packages: otherwise "err.*" would find all that package errors has.
var dotted = lazy.Regexp(`^[\pL_][\pL\d_]*(\.[\pL_][\pL\d_]*)+$`)

func newMatcher(pattern string) (matcher, error) {
	m := matcher{pattern: pattern, dotted: dotted().MatchString(pattern)}
	var err error
	if m.re, err = regexp.Compile("(?i)" + pattern); err == nil {
		return m, nil
	}
	m.literal = true
	m.re, err = regexp.Compile("(?i)" + regexp.QuoteMeta(pattern))
	return m, err
}

// match returns how well a declaration of a package matches, by the best match of its
// names.
func (m matcher) match(pkg string, d source.Declaration) (class int, ok bool) {
	try := func(name string) {
		if c, matches := m.name(name); matches && (!ok || c < class) {
			class, ok = c, true
		}
	}
	try(d.Name)
	if d.Of != "" {
		try(d.String())
	}
	if m.dotted {
		try(pkg + "." + d.String())
	}
	return class, ok
}

func (m matcher) name(name string) (class int, ok bool) {
	if !m.re.MatchString(name) {
		return 0, false // most names, and much faster than finding positions
	}
	class = matchWithin
	for _, at := range m.re.FindAllStringIndex(name, -1) {
		class = min(class, classOf(name, at[0], at[1]))
	}
	return class, true
}

func classOf(name string, start, end int) int {
	switch {
	case start == end:
		return matchWithin
	case start == 0 && end == len(name):
		return matchWhole
	case start == 0:
		return matchPrefix
	case startsWord(name, start):
		return matchWord
	}
	return matchWithin
}

// startsWord reports whether a word starts at i: in camel case, or after a dot or an
// underscore.
func startsWord(name string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(name[:i])
	here, size := utf8.DecodeRuneInString(name[i:])
	next, _ := utf8.DecodeRuneInString(name[i+size:])
	switch {
	case !unicode.IsLetter(before):
		return true
	case unicode.IsUpper(here):
		return !unicode.IsUpper(before) || unicode.IsLower(next)
	}
	return unicode.IsLetter(here) != unicode.IsLetter(before)
}
