// Package excerpt shows a call's arguments that are too long to be shown whole to the person who
// approves it. Begin with [Of].
package excerpt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const (
	leastShown = 64 // bytes of each member
	maxName    = 60
	maxNames   = 20 // of members that are cut
)

// Of returns the beginning of each member of arguments, one a line and printable, about limit bytes
// together, so that no member hides another one behind its length; and what is to be said before: how
// many bytes are not shown, and of which members; empty: all is shown. Arguments that are not an object are cut at their end.
func Of(args []byte, limit int) (text, missing string) {
	o, err := jsontree.ParseObject(args)
	if err != nil {
		text = Clip(sanitize.Text(string(args)), limit)
		return text, fmt.Sprintf("%d bytes of arguments are not shown", max(1, len(args)-len(text)))
	}
	members := o.All()
	more := members[min(len(members), max(1, limit/leastShown)):]
	members = members[:len(members)-len(more)]
	values, lengths := make([]string, len(members)), make([]int, len(members))
	for i, m := range members {
		values[i] = sanitize.Text(string(jsontree.Encode(m.Value)))
		lengths[i] = len(values[i])
	}
	share := shareOf(lengths, limit)
	var lines, names []string
	omitted := 0
	for i, m := range members {
		shown := Clip(values[i], share)
		if n := len(values[i]) - len(shown); n > 0 {
			omitted += n
			names = append(names, sanitize.Line(m.Name, maxName))
			shown += "…"
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", sanitize.Quote(m.Name, maxName), shown))
	}
	for _, m := range more {
		omitted += len(jsontree.Encode(m.Value))
	}
	others := len(more) + max(0, len(names)-maxNames)
	if names = names[:len(names)-others+len(more)]; others > 0 {
		names = append(names, fmt.Sprintf("%d members more", others))
	}
	text = "{\n" + strings.Join(lines, ",\n") + "\n}"
	if omitted == 0 { // it was blanks that made them long
		return text, ""
	}
	return text, fmt.Sprintf("%d bytes of arguments are not shown, of: %s", omitted, strings.Join(names, ", "))
}

// shareOf returns how many bytes each text may have so that all have limit together.
func shareOf(lengths []int, limit int) int {
	sorted := slices.Sorted(slices.Values(lengths))
	for i, n := range sorted {
		if share := limit / (len(sorted) - i); n > share {
			return share
		}
		limit -= n
	}
	return limit
}

// Clip returns at most limit bytes of a text.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
