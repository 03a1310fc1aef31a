package form

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Position is a place in a form. Line and Column count from 1, columns in bytes,
// as the compiler's do.
type Position struct{ Line, Column int }

func positionOf(text string, offset int) Position {
	before := text[:min(max(offset, 0), len(text))]
	return Position{strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')}
}

// At returns the position of an offset in the body, which is that in the form.
func (b *Body) At(offset int) Position { return positionOf(b.Text, offset) }

// FilePrefix begins the names of generated files in the compiler's messages. It
// is absolute, because the compiler would complete a relative one with a
// directory of the machine.
const FilePrefix = "/zzz_toolhost_form/"

// Directive returns a comment that makes the compiler report what follows at a
// place in a form instead of one in a generated file.
func Directive(number int, at Position) string {
	return fmt.Sprintf("/*line %sform%d.go:%d:%d*/", FilePrefix, number, at.Line, at.Column)
}

var formPosition = lazy.Regexp(`^(?:.*/zzz_toolhost_form/|/?)form(\d+)\.go:(\d+)(?::(\d+))?$`)

// Locate reads a position that the compiler reported. It returns false for one
// that is not in a form.
func Locate(pos string, current int) (Problem, bool) {
	m := formPosition().FindStringSubmatch(strings.ReplaceAll(pos, `\`, "/"))
	if m == nil {
		return Problem{}, false
	}
	var p Problem
	p.Form, _ = strconv.Atoi(m[1])
	p.Line, _ = strconv.Atoi(m[2])
	p.Column, _ = strconv.Atoi(m[3])
	if p.Form == current {
		p.Form = 0
	}
	return p, true
}
