package setting

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Matches reports whether a text matches the pattern of a [Kind], which begins with ^. Package regexp would say
// the same: it makes a program of each pattern first, which takes as long as reading the rest of a file.
func Matches(pattern, text string) bool {
	re, ok := parsed.Load(pattern)
	if !ok {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil || !strings.HasPrefix(pattern, "^") {
			panic("setting: the pattern " + pattern)
		}
		re, _ = parsed.LoadOrStore(pattern, tree)
	}
	return match(re.(*syntax.Regexp), text, 0, func(int) bool { return true }) //nolint:forcetypeassert // nothing else is in it
}

var parsed sync.Map // *syntax.Regexp by pattern

// match reports whether an expression matches the text from a place on, and then the rest from where it ends.
func match(re *syntax.Regexp, text string, at int, then func(at int) bool) bool {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return then(at)
	case syntax.OpLiteral:
		word := string(re.Rune)
		return strings.HasPrefix(text[at:], word) && then(at+len(word))
	case syntax.OpCharClass:
		r, size := utf8.DecodeRuneInString(text[at:])
		return size > 0 && in(re.Rune, r) && then(at+size)
	case syntax.OpBeginText:
		return at == 0 && then(at)
	case syntax.OpEndText:
		return at == len(text) && then(at)
	case syntax.OpCapture:
		return match(re.Sub[0], text, at, then)
	case syntax.OpConcat:
		return matchAll(re.Sub, text, at, then)
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, func(one *syntax.Regexp) bool { return match(one, text, at, then) })
	case syntax.OpQuest:
		return repeat(re.Sub[0], 0, 1, text, at, then)
	case syntax.OpStar:
		return repeat(re.Sub[0], 0, -1, text, at, then)
	case syntax.OpPlus:
		return repeat(re.Sub[0], 1, -1, text, at, then)
	case syntax.OpRepeat:
		return repeat(re.Sub[0], re.Min, re.Max, text, at, then)
	}
	panic("setting: a pattern with " + re.String())
}

func matchAll(all []*syntax.Regexp, text string, at int, then func(int) bool) bool {
	if len(all) == 0 {
		return then(at)
	}
	return match(all[0], text, at, func(at int) bool { return matchAll(all[1:], text, at, then) })
}

// repeat matches as many as it can, from least to most; -1: any number. Characters of a class take no more stack
// the more there are.
func repeat(re *syntax.Regexp, least, most int, text string, at int, then func(int) bool) bool {
	if re.Op == syntax.OpCharClass {
		end, n := at, 0
		for r, size := utf8.DecodeRuneInString(text[at:]); n != most && size > 0 && in(re.Rune, r); n++ {
			end += size
			r, size = utf8.DecodeRuneInString(text[end:])
		}
		for ; n >= least; n-- {
			if then(end) {
				return true
			}
			_, size := utf8.DecodeLastRuneInString(text[at:end])
			end -= size
		}
		return false
	}
	if most != 0 && match(re, text, at, func(next int) bool { return next > at && repeat(re, least-1, most-1, text, next, then) }) {
		return true
	}
	return least <= 0 && then(at)
}

// in reports whether a character is in a class, which has the first and the last of each range.
func in(class []rune, r rune) bool {
	for i := 0; i < len(class); i += 2 {
		if class[i] <= r && r <= class[i+1] {
			return true
		}
	}
	return false
}
