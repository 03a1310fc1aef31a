package glob

import (
	"errors"
	"fmt"
	"strings"
)

// expand expands {a,b}, from the left.
func expand(pattern string) ([]string, error) {
	var done []string
	rest := []string{pattern}
	for len(rest) > 0 {
		word := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		before, options, after, err := firstBrace(word)
		if err != nil {
			return nil, err
		}
		if options == nil {
			done = append(done, word)
			continue
		}
		if len(done)+len(rest)+len(options) > maxAlternatives {
			return nil, fmt.Errorf("its braces expand to more than %d patterns", maxAlternatives)
		}
		for _, o := range options {
			rest = append(rest, before+o+after)
		}
	}
	return done, nil
}

// firstBrace finds the first outermost {a,b}; options is nil if the word has none.
func firstBrace(word string) (before string, options []string, after string, err error) {
	open, start, depth := -1, 0, 0
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '\\':
			i++
		case c == '[':
			if end := setEnd(word[i:]); end > 0 {
				i += end - 1
			}
		case c == '{':
			if depth++; depth == 1 {
				open, start = i, i+1
			}
		case c == ',' && depth == 1:
			options, start = append(options, word[start:i]), i+1
		case c == '}' && depth == 0:
			return "", nil, "", errors.New("a } has no {")
		case c == '}':
			if depth--; depth == 0 {
				return word[:open], append(options, word[start:i]), word[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New("a { has no }")
	}
	return word, nil, "", nil
}

// setEnd returns the length of the set that the word starts with, or 0 if the set has
// no end.
func setEnd(word string) int {
	i := 1
	if strings.HasPrefix(word[i:], "!") || strings.HasPrefix(word[i:], "^") {
		i++
	}
	for first := true; i < len(word); i, first = i+1, false {
		switch {
		case word[i] == ']' && !first:
			return i + 1
		case word[i] == '\\':
			i++
		}
	}
	return 0
}
