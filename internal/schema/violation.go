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
	// Faults has the same problems in structured form, for callers that have
	// their own texts. It has at most 100.
	Faults []Fault
	// Omitted is the number of further problems.
	Omitted int
}

// Fault is one of the problems of a [Violation].
type Fault struct {
	// Path leads to the value at fault: names of members, and indexes of items.
	Path []string
	// Member is the member of that value that is missing or unexpected, or
	// whose name is not allowed. Empty: the value itself is at fault.
	Member string
	// Keyword is the keyword that the value breaks. Empty: nothing is allowed there.
	Keyword string
	// Name reports whether the name of Member is at fault.
	Name bool
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
