// Package glob matches names and paths against shell patterns, in time that is
// bounded by the length of the pattern times that of the path. Start with
// [Compile]; package ignore uses [CompileGit] for the patterns of gitignore.
//
// # Patterns
//
// A ? stands for one character and a * for any number of them, none of them a
// slash. [a-z] stands for one of a set and [!a-z] for one not in it; sets know
// classes such as [:digit:]. **/ stands for any number of directories, none
// included, and /** at the end for everything below. {a,b} stands for either,
// and a backslash takes the meaning from the character behind it.
package glob

import (
	"fmt"
	"strings"
)

// Bounds of a pattern. They keep a pattern from costing more than a look at the
// files that it picks.
const (
	maxLength       = 4096 // bytes
	maxAlternatives = 256  // after {a,b} is written out
)

// Glob is a pattern for names, or for paths where it has a slash.
type Glob struct {
	alternatives []Pattern
	whole        bool
}

// Compile reads a pattern. A leading slash is allowed, and makes a pattern for
// paths of one that has no other.
func Compile(pattern string) (*Glob, error) {
	if len(pattern) > maxLength {
		return nil, fmt.Errorf("malformed glob: it has %d bytes, and at most %d are allowed (use a shorter one)", len(pattern), maxLength)
	}
	words, err := expand(pattern)
	if err != nil {
		return nil, malformed(pattern, err)
	}
	g := &Glob{whole: strings.Contains(pattern, "/")}
	for _, word := range words {
		p, err := compile(strings.TrimPrefix(word, "/"), false)
		if err != nil {
			return nil, malformed(pattern, err)
		}
		g.alternatives = append(g.alternatives, p)
	}
	return g, nil
}

func malformed(pattern string, why error) error {
	return fmt.Errorf("malformed glob %q: %w (use *, **, ?, [a-z], {a,b} and \\ before a character that stands for itself)", pattern, why)
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
