package form

import (
	"errors"
	"fmt"
	"go/scanner"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// Problem is an error in a form, or a warning about it.
type Problem struct {
	Line    int    `json:"line" jsonschema:"in the form, from 1; 0: not in the form"`
	Column  int    `json:"column" jsonschema:"in bytes, from 1"`
	Message string `json:"message"`
	Form    int    `json:"form,omitempty" jsonschema:"the number of an earlier form, if line and column are in a declaration kept from it"`
}

func (p Problem) String() string {
	switch {
	case p.Line == 0:
		return p.Message
	case p.Form > 0:
		return fmt.Sprintf("form %d:%d:%d: %s", p.Form, p.Line, p.Column, p.Message)
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
}

// Problems is the error of a form that does not compile.
type Problems []Problem

// Bounds of what is reported.
const (
	MaxProblems = 20
	MaxMessage  = 4 << 10 // bytes
)

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Add adds a problem, at most [MaxProblems] and one for each place.
func (p *Problems) Add(one Problem) {
	for _, other := range *p {
		sameLine := other.Form == one.Form && other.Line == one.Line && one.Line > 0
		if other == one || sameLine && (other.Column == one.Column || other.Message == one.Message) {
			return
		}
	}
	if len(*p) < MaxProblems {
		one.Message = truncate.Counted(one.Message, MaxMessage)
		*p = append(*p, one)
	}
}

// Err returns the problems as an error; nil if there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// syntaxProblems turns the parser's error into problems.
func (f *Form) syntaxProblems(err error) error {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return err
	}
	end := positionOf(f.text, len(f.text))
	var out Problems
	for _, e := range list {
		one, _ := Locate(e.Pos.String(), f.Number)
		one.Message = e.Msg
		if one.Line == 0 || one.Line > end.Line || strings.HasSuffix(e.Msg, "found 'EOF'") {
			expected, _, _ := strings.Cut(e.Msg, ", found ") // a brace that is not the form's
			one = Problem{Line: end.Line, Column: end.Column, Message: "the form ends too early: " + expected}
		}
		out.Add(one)
	}
	return out.Err()
}

var errorLine = lazy.Regexp(`^(.+?\.go:\d+(?::\d+)?): (.*)$`)

// BuildProblems reads what the go command printed. If none of it concerns a form,
// the lines become problems without a place.
func BuildProblems(output string, current int, scrub func(string) string) Problems {
	var out Problems
	var others []string
	for line := range strings.SplitSeq(output, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "# "):
			continue
		case strings.HasPrefix(line, "\t") && len(out) > 0: // it explains the line before
			last := &out[len(out)-1]
			last.Message = truncate.Counted(last.Message+"; "+scrub(strings.TrimSpace(line)), MaxMessage)
			continue
		}
		if m := errorLine().FindStringSubmatch(line); m != nil {
			if one, ok := Locate(m[1], current); ok {
				one.Message = scrub(m[2])
				out.Add(one)
				continue
			}
		}
		others = append(others, scrub(line))
	}
	if len(out) == 0 {
		for _, line := range others {
			out.Add(Problem{Message: line})
		}
	}
	return out
}
