package sanitize

import (
	"unicode"
	"unicode/utf8"
)

// Hidden finds the first character of s that an eye does not see, or that changes the
// order in which others are seen: a text with one can say something else to a model, or
// to a program, than to the person who reads it. Found is false if there is none.
//
// Hidden are control characters other than newlines and tabs, formatting characters such
// as bidirectional marks, zero-width spaces, soft hyphens and tags (so that flags of
// regions, which are made of tags, are refused), separators of lines and paragraphs,
// variation selectors, and whatever else Unicode has displays ignore. Two of these are
// allowed where writing needs them and no second text can be hidden in them: one of the
// joiners U+200C and U+200D between two characters beyond ASCII that they join, as in
// Persian, Hindi and emoji; and one of U+FE0E and U+FE0F behind a symbol, as in ⚠️.
func Hidden(s string) (r rune, found bool) {
	if plain(s) {
		return 0, false
	}
	before := rune(' ')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		after := ' '
		if i < len(s) {
			after, _ = utf8.DecodeRuneInString(s[i:])
		}
		if r != '\n' && r != '\t' && conceals(before, r, after) {
			return r, true
		}
		before = r
	}
	return 0, false
}

// conceals reports whether r, between two others, is hidden.
func conceals(before, r, after rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return !joins(before) || !joins(after) || selects(after)
	case '\ufe0e', '\ufe0f':
		return !unicode.In(before, unicode.S, unicode.P, unicode.Nd)
	}
	return r < utf8.RuneSelf && unicode.IsControl(r) || r >= utf8.RuneSelf && ignored(r)
}

// joins reports whether a joiner makes sense next to r.
func joins(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.In(r, unicode.L, unicode.M, unicode.So, unicode.Sk, unicode.Sm) || selects(r)) && !ignored(r)
}

func selects(r rune) bool { return r == '\ufe0e' || r == '\ufe0f' }

// ignored reports whether a display shows nothing for r, or moves others.
func ignored(r rune) bool {
	if selects(r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // these formatting characters are seen
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
