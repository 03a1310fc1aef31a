package lookup

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/suggest"
)

// maxNearest is how many names are suggested for one that does not exist.
const maxNearest = 5

// DidYouMean returns the suggestion of the names nearest to one that does not exist,
// to append to an error. It is empty if none is near.
func DidYouMean(wanted string, names []string) string {
	near := Nearest(wanted, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// Nearest returns the names nearest to one that does not exist, best first. Unlike
// [suggest.Nearest], it compares the ends of qualified names, unless the wanted name
// is qualified too.
func Nearest(wanted string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, name := range names {
		if score, ok := distance(wanted, name); ok {
			found = append(found, scored{name, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		// Of names equally near, those at package level come first.
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(strings.Count(a.name, "."), strings.Count(b.name, ".")),
			strings.Compare(a.name, b.name))
	})
	found = slices.Compact(found)
	var out []string
	for _, f := range found[:min(len(found), maxNearest)] {
		out = append(out, f.name)
	}
	return out
}

// distance returns how far two names are apart, and whether that is near: equal but for
// case, one the start of the other, few edits, or one within the other, in this order.
func distance(wanted, name string) (int, bool) {
	w := strings.ToLower(wanted)
	best, near := 0, false
	for _, n := range tails(strings.ToLower(name)) {
		if d, ok := apart(w, n); ok && (!near || d < best) {
			best, near = d, true
		}
	}
	return best, near
}

// tails returns a qualified name and its ends: of "a/b.C.D" also "b.C.D", "C.D" and "D".
func tails(name string) []string {
	out := []string{name}
	for i, r := range name {
		if r == '.' || r == '/' {
			out = append(out, name[i+1:])
		}
	}
	return out
}

func apart(w, n string) (int, bool) {
	const start, within = 2, 8
	allowed := min(max(1, len(w)/3), 3)
	switch {
	case w == n:
		return 0, true
	case len(w) >= 3 && strings.HasPrefix(n, w), len(n) >= 3 && strings.HasPrefix(w, n):
		return start, true
	}
	if lengths := len(w) - len(n); -allowed <= lengths && lengths <= allowed {
		if d := suggest.Distance(w, n); d <= allowed {
			return d, true
		}
	}
	return within, len(w) >= 3 && strings.Contains(n, w)
}
