// Package need checks and compares what plugins declare that they need. [Check] comes first.
package need

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Limits of [tool.Needs].
const (
	MaxEntries = 256     // entries of a list
	MaxLength  = 4 << 10 // bytes of an entry

	maxTotal = 64 << 10 // bytes of all entries
)

// Check returns an error for the first mistake in a declaration. Nil has none.
//
// # Errors
//
// [tool.CodeInvalidDefinition]. The message names the list and the entry.
func Check(n *tool.Needs) error {
	if n == nil {
		return nil
	}
	bad := func(hint, format string, args ...any) error {
		return tool.Errorf(tool.CodeInvalidDefinition, "the declared needs are malformed: %s", fmt.Sprintf(format, args...)).
			At(callstage.Register).Try(hint)
	}
	total := 0
	for _, l := range grant.Lists {
		entries := *l.List(n)
		if len(entries) > MaxEntries {
			return bad("name directories or use a star", "%s has %d entries, more than %d", l.Name, len(entries), MaxEntries)
		}
		for _, e := range entries {
			total += len(e)
			if err := cmp.Or(checkNeed(e), l.Check(e)); err != nil {
				return bad("", "%s %s: %v", l.Name, sanitize.Quote(e, 100), err)
			}
		}
	}
	if total > maxTotal {
		return bad("name directories or use a star", "the entries have %d bytes together, more than %d", total, maxTotal)
	}
	for _, l := range grant.Amounts {
		if amount := l.Amount(n); amount != 0 && !(amount >= l.Least && amount <= l.Most) { // as NaN is not
			return bad(l.Range, "%s is %v", l.Name, l.Value(n))
		}
	}
	return nil
}

// checkNeed checks what holds for entries of each list.
func checkNeed(entry string) error {
	switch {
	case entry == "":
		return errors.New("it is empty")
	case len(entry) > MaxLength:
		return fmt.Errorf("it has %d bytes, more than %d", len(entry), MaxLength)
	case !utf8.ValidString(entry):
		return errors.New("it is not UTF-8")
	case strings.ContainsAny(entry, "\n\t") || isHidden(entry):
		return errors.New("it has a control or hidden character")
	case strings.TrimSpace(entry) != entry:
		return errors.New("it has white space around it")
	}
	return nil
}

// Normal returns the declaration in the one form of all that say the same: lists are sorted
// and have nothing twice, paths are clean and hosts in lower case. It shares no memory with n.
// The declaration has to pass [Check].
func Normal(n *tool.Needs) *tool.Needs {
	if n == nil {
		return nil
	}
	out := *n
	for _, l := range grant.Lists {
		var entries []string // nil if there are none
		for _, e := range *l.List(n) {
			entries = append(entries, l.Normal(e))
		}
		slices.Sort(entries)
		*l.List(&out) = slices.Compact(entries)
	}
	return &out
}

func isHidden(entry string) bool {
	_, found := sanitize.Hidden(entry)
	return found
}
