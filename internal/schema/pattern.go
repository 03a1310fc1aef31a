package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// errDialect reports that a pattern is not judged, because it needs what package
// regexp does not have: lookaround, references back, and some escapes and
// Unicode classes. It never takes more than linear time.
var errDialect = errors.New("not checked, because of")

// dialect has the errors of expressions that may be valid in JavaScript, whose
// expressions JSON Schema takes.
var dialect = map[syntax.ErrorCode]bool{
	syntax.ErrInvalidPerlOp: true, syntax.ErrInvalidNamedCapture: true, syntax.ErrInvalidEscape: true,
	syntax.ErrInvalidCharRange: true, syntax.ErrInvalidRepeatSize: true,
}

// pattern compiles an expression as v5 will, after checking its size: matching
// takes time in proportion to the text times the program, and a few characters
// such as {1000} make a large program.
func (b *builder) pattern(expr string) (pattern, error) {
	if p, ok := b.patterns[expr]; ok {
		return p, nil
	}
	if len(expr) > maxPatternBytes {
		return pattern{}, fmt.Errorf("a pattern has %d bytes, more than %d", len(expr), maxPatternBytes)
	}
	if b.parsing += parseWork(expr); b.parsing > maxPatternWork {
		return pattern{}, errors.New(`the patterns take too long to read; ` +
			`use fewer classes such as \p{L}, and fewer ranges beyond ASCII with (?i)`)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		var fault *syntax.Error
		switch {
		case errors.As(err, &fault) && dialect[fault.Code]:
			return pattern{}, fmt.Errorf("the pattern %s is %w: %s", quote(expr), errDialect, quote(fault.Expr))
		case fault != nil:
			return pattern{}, fmt.Errorf("the pattern %s does not compile: %s: %s", quote(expr), fault.Code, quote(fault.Expr))
		}
		return pattern{}, fmt.Errorf("the pattern %s does not compile", quote(expr))
	}
	program := instructions(tree)
	if b.program += program; b.program > maxPatternProgram {
		return pattern{}, errors.New("the patterns are too large together; use maxLength in place of long repeats")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return pattern{}, fmt.Errorf("the pattern %s does not compile", quote(expr))
	}
	p := pattern{re: re, program: program}
	b.patterns[expr] = p
	return p, nil
}

// What one step covers when an expression is parsed: some expressions of a few
// bytes take a thousand times as long as others.
const (
	parseBytes = 4    // literal bytes
	parseClass = 100  // steps for a Unicode class such as \pL, which has hundreds of ranges
	parseWide  = 1200 // steps for a range for whose characters the parser looks up other cases
)

// parseWork estimates how many steps it takes to parse an expression. The
// estimate itself takes no noticeable time.
func parseWork(expr string) int {
	steps := 1 + len(expr)/parseBytes
	folds := strings.Contains(expr, "(?")
	for i := 0; i+1 < len(expr); i++ {
		switch next := expr[i+1]; {
		case expr[i] == '\\' && (next == 'p' || next == 'P'):
			steps += parseClass
		case expr[i] == '-' && folds && (next == '\\' || next >= utf8.RuneSelf): // every other range ends in ASCII
			steps += parseWide
		}
	}
	return steps
}

// isRegex reports whether v is a valid expression. It parses v but does not
// compile it, which could not fail in any other way.
func isRegex(v any) bool {
	s, ok := v.(string)
	if !ok {
		return true
	}
	_, err := syntax.Parse(s, syntax.Perl)
	return err == nil
}

// instructions estimates the size of the program for re. It does not compile
// re, as the program of a 4 KiB pattern can take 100 MB. Package syntax limits
// the depth of re.
func instructions(re *syntax.Regexp) int {
	total := 1 + len(re.Rune)/8 // a class is one instruction, though a slow one
	if re.Op == syntax.OpLiteral {
		total = len(re.Rune)
	}
	for _, sub := range re.Sub {
		total += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		total *= max(re.Max, re.Min+1, 1)
	}
	return min(total, maxPatternProgram+1)
}
