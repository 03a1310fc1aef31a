package schema

import (
	"strconv"
	"strings"
)

const (
	// maxShown are the problems in a Violation's text.
	maxShown = 5
	// maxProblems are those that it keeps.
	maxProblems = 100
)

// Violation says why a value does not fit a schema.
type Violation struct {
	// Problems are one or more lines, each on one problem: what is missing
	// first, then what is not expected, then what is invalid, each by name.
	// There are 100 at most.
	Problems []string

	omitted int // further problems
}

// Error is the first five problems and the number of the others.
func (v *Violation) Error() string {
	shown := v.Problems
	more := v.omitted
	if len(shown) > maxShown {
		more += len(shown) - maxShown
		shown = shown[:maxShown]
	}
	text := strings.Join(shown, "; ")
	if more > 0 {
		text += "; and " + strconv.Itoa(more) + " more"
	}
	return text
}
