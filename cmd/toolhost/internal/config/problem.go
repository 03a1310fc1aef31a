package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	// File is the path as it was given.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Key is the path of the setting, such as plugins.db.limits.running; names
	// with dots are quoted: tools."fs.read".rate. Empty: the file as a whole.
	Key string `json:"key,omitempty"`
	// Message says what is wrong, Hint what to do; the hint may be empty.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Snippet is the offending line with its number, and a mark under the column.
	// Secrets are left out.
	Snippet string `json:"snippet,omitempty"`
}

// String returns the place, the key, the message and the hint, on one line.
func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Key != "" {
		text += p.Key + ": "
	}
	text += p.Message
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Error has everything that is wrong with a file, in the order of its lines.
type Error struct {
	File     string
	Problems []Problem
	// Omitted is how many further problems there are.
	Omitted int
}

// maxProblems bounds how many problems of a file are kept.
const maxProblems = 50

// Error returns every problem with its snippet, and how many more there are.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
		if p.Snippet != "" {
			b.WriteByte('\n')
			b.WriteString(p.Snippet)
		}
	}
	if e.Omitted > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more problems", e.File, e.Omitted)
	}
	return b.String()
}

// findings collect the problems of one file.
type findings struct {
	src      *source
	problems []Problem
	omitted  int
}

// add notes a problem at a place.
func (f *findings) add(at place, key, hint, format string, args ...any) {
	f.keep(at, 0, key, hint, fmt.Sprintf(format, args...))
}

// addKey notes a problem with a key. Its value is not shown, because it could be a secret
// under a misspelled name.
func (f *findings) addKey(n *node, key, hint, format string, args ...any) {
	f.keep(n.at, max(1, len([]rune(n.text))), key, hint, fmt.Sprintf(format, args...))
}

func (f *findings) keep(at place, width int, key, hint, message string) {
	if len(f.problems) == maxProblems {
		f.omitted++
		return
	}
	at = f.src.inside(at)
	f.problems = append(f.problems, Problem{
		File: f.src.file, Line: at.line, Column: at.column, Key: key,
		Message: message, Hint: hint, Snippet: f.src.snippet(at, width),
	})
}

// err returns what was found as an error; nil: nothing.
func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, byPlace)
	return &Error{File: f.src.file, Problems: f.problems, Omitted: f.omitted}
}

// place is where something begins in a file. Line and column count from 1.
type place struct{ line, column int }

// source is the text of a file.
type source struct {
	file  string // as it was given
	dir   string // absolute: what relative paths are relative to
	lines []string
	// hidden has, for each line, the character at which a secret may begin; -1: none.
	hidden func() []int
}

func newSource(name, text string) (*source, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	return sourceOf(name, filepath.Dir(abs), strings.Split(text, "\n")), nil
}

func sourceOf(file, dir string, lines []string) *source {
	return &source{file, dir, lines, sync.OnceValue(func() []int { return secretParts(lines) })}
}

// inside moves a place into the file: to the first line if it is not known, and at most
// one character past the end of a line.
func (s *source) inside(at place) place {
	at.line = min(max(at.line, 1), len(s.lines))
	at.column = min(max(at.column, 1), len([]rune(s.lines[at.line-1]))+1)
	return at
}
