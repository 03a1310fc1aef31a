// Package gocheck finds out whether packages of the workspace compile, with their tests,
// and what go vet says of them. Start with [Checker.Check].
package gocheck

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// Problem is an error of the go command or the compiler, or a finding of go vet.
type Problem struct {
	File    string `json:"file,omitempty" jsonschema:"path from the workspace's root; empty: the message has no place"`
	Line    int    `json:"line,omitempty" jsonschema:"from 1"`
	Column  int    `json:"column,omitempty" jsonschema:"in bytes, from 1"`
	Message string `json:"message"`
	Vet     string `json:"vet,omitempty" jsonschema:"the analyzer of go vet; empty for what does not compile"`
}

// String returns the problem in one line, as compilers print it.
func (p Problem) String() string {
	text := p.Message
	if p.Vet != "" {
		text += " (vet: " + p.Vet + ")"
	}
	switch {
	case p.File == "":
		return text
	case p.Line == 0:
		return p.File + ": " + text
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, text)
}

// Problems collects problems, each once: a package is compiled for each of its tests too.
// Its zero value is ready.
type Problems struct {
	// Place makes paths that the go command printed those from the workspace's root.
	Place func(file string) string
	// Scrub removes directories of the machine from messages.
	Scrub func(string) string

	list  []Problem
	known map[Problem]bool
	more  bool // the compiler left some out
}

// Bounds of what is collected.
const (
	maxProblems = 5000
	maxMessage  = 2 << 10 // bytes
)

// Add adds a problem.
func (p *Problems) Add(one Problem) {
	one.Message = truncate.Counted(p.Scrub(strings.TrimSpace(one.Message)), maxMessage)
	if one.File != "" {
		one.File = p.Place(one.File)
	}
	if p.known == nil {
		p.known = map[Problem]bool{}
	}
	if !p.known[one] && len(p.list) < maxProblems {
		p.known[one] = true
		p.list = append(p.list, one)
	}
}

var position = lazy.Regexp(`^(.+?\.[a-zA-Z]+):(\d+)(?::(\d+))?: (.*)$`)

// AddOutput adds the problems that a compiler or the go command printed. A line that begins
// with a tab explains the one before it.
func (p *Problems) AddOutput(output string) {
	var last *Problem
	flush := func() {
		if last != nil {
			p.Add(*last)
		}
		last = nil
	}
	for line := range strings.SplitSeq(output, "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimSpace(line)
		switch m := position().FindStringSubmatch(line); {
		case trimmed == "" || strings.HasPrefix(line, "# "):
			flush()
		case strings.HasSuffix(trimmed, "too many errors"):
			p.more = true
		case strings.HasPrefix(line, "\t") && last != nil:
			last.Message += separator(last.Message) + trimmed
		case m != nil:
			flush()
			last = &Problem{File: strings.TrimPrefix(m[1], "vet: "), Message: m[4]}
			last.Line, _ = strconv.Atoi(m[2])
			last.Column, _ = strconv.Atoi(m[3])
		default:
			flush()
			last = &Problem{Message: trimmed}
		}
	}
	flush()
}

// separator is what joins an explanation to a message.
func separator(message string) string {
	if strings.HasSuffix(message, ":") {
		return " "
	}
	return "; "
}

// in reports whether there is a problem in a file of a directory, a path from the root.
func (p *Problems) in(dir string) bool {
	return slices.ContainsFunc(p.list, func(one Problem) bool { return path.Dir(one.File) == dir })
}

// AddAt adds a problem at a position as the go command writes it, FILE:LINE:COLUMN.
func (p *Problems) AddAt(at, message, vet string) {
	one := Problem{Message: message, Vet: vet}
	if m := position().FindStringSubmatch(at + ": "); m != nil {
		one.File = m[1]
		one.Line, _ = strconv.Atoi(m[2])
		one.Column, _ = strconv.Atoi(m[3])
	}
	p.Add(one)
}

// List returns the problems by place, what does not compile before what go vet found, and
// whether the compiler left some out.
func (p *Problems) List() (list []Problem, more bool) {
	list = slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(min(len(a.Vet), 1), min(len(b.Vet), 1)), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return list, p.more
}
