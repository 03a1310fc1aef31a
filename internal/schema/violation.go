package schema

import (
	"strconv"
	"strings"
)

const (
	// maxShown is the number of problems in the text of a Violation.
	maxShown = 5
	// maxProblems is the number of problems that a Violation stores.
	maxProblems = 100
)

// Violation describes why a value does not fit a schema.
type Violation struct {
	// Problems has one line per problem: first missing members, then unexpected
	// ones, then invalid values, each sorted by name. It has 1 to 100 lines.
	Problems []string
	// Omitted is the number of further problems.
	Omitted int
}

// Error lists the first five problems and the number of the others.
func (v *Violation) Error() string {
	shown := v.Problems
	more := v.Omitted
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
