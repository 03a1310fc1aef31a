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
	// Places are those of Problems, if they are known.
	Places []Place
}

// Place is where a problem is: the path of the value, and the keyword of the schema that it breaks.
type Place struct {
	Path, Keyword string
	Missing       bool // there is no value
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
