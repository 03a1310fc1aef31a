package main

import (
	"errors"
	"fmt"
	"go/scanner"
	"regexp"
	"strconv"
	"strings"
)

// problem is one thing that is wrong with a form, or worth a warning.
type problem struct {
	Line    int    `json:"line" jsonschema:"in the form, from 1; 0: not in the form"`
	Column  int    `json:"column" jsonschema:"in bytes, from 1"`
	Message string `json:"message"`
	Form    int    `json:"form,omitempty" jsonschema:"the number of an earlier form, where line and column are in a declaration kept from it"`
}

// problems are an error: what keeps a form from being compiled.
type problems struct {
	list []problem
}

// maxProblems bounds how many are told.
const maxProblems = 20

func (p *problems) Error() string {
	var lines []string
	for _, one := range p.list {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

func (p problem) String() string {
	switch {
	case p.Line == 0:
		return p.Message
	case p.Form > 0:
		return fmt.Sprintf("form %d:%d:%d: %s", p.Form, p.Line, p.Column, p.Message)
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
}

// add notes a problem, up to a limit, one for each place.
func (p *problems) add(one problem) {
	for _, other := range p.list {
		if other.Form == one.Form && other.Line == one.Line && (other.Column == one.Column || other.Message == one.Message) {
			return
		}
	}
	if len(p.list) < maxProblems {
		one.Message = cut(one.Message, maxMessage)
		p.list = append(p.list, one)
	}
}

func (p *problems) orNil() error {
	if len(p.list) == 0 {
		return nil
	}
	return p
}

var formPosition = regexp.MustCompile(`^(?:.*/toolhost/|/?)form(\d+)\.go:(\d+)(?::(\d+))?$`)

// locate reads a position that the compiler gave; false: it is not in a form.
func locate(pos string, current int) (problem, bool) {
	m := formPosition.FindStringSubmatch(strings.ReplaceAll(pos, `\`, "/"))
	if m == nil {
		return problem{}, false
	}
	var p problem
	p.Form, _ = strconv.Atoi(m[1])
	p.Line, _ = strconv.Atoi(m[2])
	p.Column, _ = strconv.Atoi(m[3])
	if p.Form == current {
		p.Form = 0
	}
	return p, true
}

// parseProblems are what the parser found.
func parseProblems(err error, f *form) error {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return err
	}
	out := &problems{}
	for _, e := range list {
		one, _ := locate(e.Pos.String(), f.number)
		one.Message = e.Msg
		if end := place(f.text, len(f.text)); one.Line == 0 || one.Line > end.line {
			one = problem{Line: end.line, Column: end.col, Message: "the form ends too early: " + e.Msg}
		}
		out.add(one)
	}
	return out.orNil()
}

var errorLine = regexp.MustCompile(`^(.+?\.go:\d+(?::\d+)?): (.*)$`)

// buildProblems reads what the go command printed. What is not about a form comes
// as it is, without machine directories.
func buildProblems(output string, current int, scrub func(string) string) *problems {
	out := &problems{}
	var others []string
	for line := range strings.SplitSeq(output, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "# "):
			continue
		case strings.HasPrefix(line, "\t") && len(out.list) > 0: // it explains the line before
			last := &out.list[len(out.list)-1]
			last.Message = cut(last.Message+"; "+scrub(strings.TrimSpace(line)), maxMessage)
			continue
		}
		if m := errorLine.FindStringSubmatch(line); m != nil {
			if one, ok := locate(m[1], current); ok {
				one.Message = scrub(m[2])
				out.add(one)
				continue
			}
		}
		others = append(others, scrub(line))
	}
	if len(out.list) == 0 {
		for _, line := range others {
			out.add(problem{Message: line})
		}
	}
	return out
}
