// Package glob matches names and paths against shell patterns, in time bounded by the
// length of the pattern times that of the path. Start with
// [Compile]; package ignore uses [CompileGit] for the patterns of gitignore.
//
// # Patterns
//
// A ? matches one character and a * any number of characters, except slashes. [a-z]
// matches a character of a set and [!a-z] one that is not in it; sets may have classes
// such as [:digit:]. **/ matches any number of directories, including none, and /** at
// the end everything below. {a,b} matches either pattern, and a backslash makes the next
// character stand for itself.
package glob

import (
	"fmt"
	"strings"
)

// Bounds of a pattern, so that matching does not cost more than reading the directory.
const (
	maxLength       = 4096 // bytes
	maxAlternatives = 256  // after {a,b} is expanded
)

// Glob is a pattern for paths if it has a slash, or else for names.
type Glob struct {
	alternatives []Pattern
	whole        bool // it is for paths
}

// Compile parses a pattern. A leading / or ./ is not matched: it makes the pattern one
// for paths.
func Compile(pattern string) (*Glob, error) {
	if len(pattern) > maxLength {
		return nil, fmt.Errorf("malformed glob: it has %d bytes, and at most %d are allowed (use a shorter one)",
			len(pattern), maxLength)
	}
	words, err := expand(pattern)
	if err != nil {
		return nil, malformed(pattern, err)
	}
	g := &Glob{whole: strings.Contains(pattern, "/")}
	for _, word := range words {
		p, err := compile(strings.TrimPrefix(strings.TrimPrefix(word, "./"), "/"), false)
		if err != nil {
			return nil, malformed(pattern, err)
		}
		g.alternatives = append(g.alternatives, p)
	}
	return g, nil
}

func malformed(pattern string, why error) error {
	return fmt.Errorf("malformed glob %q: %w (use *, **, ?, [a-z], {a,b} and \\ before a character that stands for itself)",
		pattern, why)
}

// Match reports whether the pattern matches: the path if the pattern has a
// slash, else the path's last element.
func (g *Glob) Match(path string) bool {
	if !g.whole {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	for _, p := range g.alternatives {
		if p.Match(path) {
			return true
		}
	}
	return false
}
