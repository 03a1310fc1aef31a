package sandbox

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Enforced is which lines were enforced in full at a start, and what was wanted then. Later starts
// are not to fall below that, see [Enforced.Falls].
type Enforced struct {
	Wanted tool.Needs `json:"wanted"`
	Lines  Report     `json:"lines"`
}

// Fall is a line that was enforced in full, and is not any more.
type Fall struct {
	Was Line `json:"was"`
	Is  Line `json:"is"`
}

// String returns such as "write (none): it was enforced by Landlock, and now every file of its user
// can be changed".
func (f Fall) String() string {
	by := strings.Join(f.Was.By, ", ")
	return f.Is.Name + " (" + f.Is.Given + "): it was enforced by " + by + ", and now " + f.Is.Open
}

// general are the lines that follow from what is wanted of several others.
var general = []string{"processes", "protected", "kernel"}

// Falls returns the lines of a start that fall below what was enforced: a line that is open because more
// is wanted of it does not, as who decides has opened it. Nothing was enforced of a nil *Enforced.
func (e *Enforced) Falls(wanted tool.Needs, report Report) (out []Fall) {
	if e == nil {
		return nil
	}
	larger := need.Changes(&wanted, &e.Wanted).Larger()
	for _, was := range e.Lines {
		i := slices.IndexFunc(report, func(l Line) bool { return l.Name == was.Name })
		switch {
		case i < 0, report[i].Open == "", touches(larger, was.Name):
		case slices.Contains(general, was.Name) && isOpen(wanted) != isOpen(e.Wanted): // then it is another promise
		case was.Name == "protected" && slices.Contains(report[i].By, byMounts): // something is not there yet
		default:
			out = append(out, Fall{was, report[i]})
		}
	}
	return out
}

// Raised returns what later starts are not to fall below, after one that did not: if it wanted no more
// than was wanted before, also what was enforced before.
func (e *Enforced) Raised(wanted tool.Needs, report Report) *Enforced {
	all := slices.DeleteFunc(slices.Clone(report), func(l Line) bool { return l.Open != "" || len(l.By) == 0 })
	if e == nil {
		return &Enforced{wanted, all}
	}
	changes := need.Changes(&wanted, &e.Wanted)
	if len(changes.Larger()) > 0 || isOpen(e.Wanted) && !isOpen(wanted) { // nothing of its lists was bounded
		return &Enforced{wanted, all}
	}
	out := &Enforced{e.Wanted, slices.Clone(e.Lines)}
	for _, l := range all {
		i := slices.IndexFunc(out.Lines, func(was Line) bool { return was.Name == l.Name })
		switch {
		case touches(changes, l.Name): // with less wanted, more can be enforced
		case i < 0:
			out.Lines = append(out.Lines, l)
		default:
			out.Lines[i] = l
		}
	}
	return out
}

// Without returns it without lines, which may be open from now on.
func (e *Enforced) Without(names []string) *Enforced {
	if e == nil {
		return nil
	}
	isNamed := func(l Line) bool { return slices.Contains(names, l.Name) }
	return &Enforced{e.Wanted, slices.DeleteFunc(slices.Clone(e.Lines), isNamed)}
}

// isOpen reports whether everything is wanted, see [Profile.isOpen].
func isOpen(n tool.Needs) bool {
	return !slices.ContainsFunc(grant.Lists, func(l grant.Line) bool { return !slices.Contains(*l.List(&n), tool.Any) })
}

// touches reports whether changes of what is wanted concern a line.
func touches(changes need.Diff, name string) bool {
	return slices.ContainsFunc(changes, func(c need.Change) bool {
		return c.Line == name || slices.Contains(general, name) && !grant.IsAmount(c.Line)
	})
}
