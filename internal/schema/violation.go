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
	// Faults has the problems in parts, for callers that have their own words. There are
	// 100 at most.
	Faults []Fault
	// Omitted is how many further problems there are.
	Omitted int
}

// Fault is one of the problems of a [Violation].
type Fault struct {
	// Path leads to the value at fault: names of members, and indexes of items.
	Path []string
	// Member is the member of that value which is missing or not expected, or whose
	// name is not allowed. Empty: the value itself is at fault.
	Member string
	// Keyword is the keyword that the value breaks. Empty: nothing is allowed there.
	Keyword string
	// Name reports that the name of Member is at fault.
	Name bool
}

// Error is the first five problems and the number of the others.
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
