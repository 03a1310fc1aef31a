package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern compiles an expression as v5 will, with a look at its size first:
// matching takes time in proportion to the text times the program, and a few
// characters such as {1000} make a large program.
func (b *builder) pattern(expr string) (pattern, error) {
	if p, ok := b.patterns[expr]; ok {
		return p, nil
	}
	if len(expr) > maxPatternBytes {
		return pattern{}, fmt.Errorf("a pattern has %d bytes, more than %d", len(expr), maxPatternBytes)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		var fault *syntax.Error
		if errors.As(err, &fault) {
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

// instructions is about how many a program for re has. It is counted and not
// tried, as what 4 KiB can stand for takes 100 MB. The depth of re is bounded by
// package syntax.
func instructions(re *syntax.Regexp) int {
	total := 1 + len(re.Rune)/8 // a class is one, if a slow one
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
