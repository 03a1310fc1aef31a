package need

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Change is one difference between two declarations.
type Change struct {
	// Line is read, write, net, exec, memory or cpu; empty: the whole declaration.
	Line string `json:"line,omitempty"`
	// Was and Is are the entry of a list, or a value, for people; empty: there was, or is,
	// none.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	// Larger says that more is wanted than before.
	Larger bool `json:"larger,omitempty"`
}

// String returns the difference on one line, such as "net: api.example.com:443 is new" or
// "memory: 512 MiB, was 256 MiB".
func (c Change) String() string {
	switch {
	case c.Line == "" && c.Is == "":
		return "it does not declare any more what it needs, which was: " + c.Was
	case c.Line == "":
		return "it declares what it needs, which it did not: " + c.Is
	case c.Was == "":
		return fmt.Sprintf("%s: %s is new", c.Line, c.Is)
	case c.Is == "":
		return fmt.Sprintf("%s: %s is gone", c.Line, c.Was)
	}
	return fmt.Sprintf("%s: %s, was %s", c.Line, c.Is, c.Was)
}

// Diff is the differences between two declarations, in an order that only depends on
// what they say.
type Diff []Change

// maxShown is how many differences a text has.
const maxShown = 10

// String returns the differences on one line, at most ten of them.
func (all Diff) String() string {
	var texts []string
	for _, c := range all[:min(len(all), maxShown)] {
		texts = append(texts, c.String())
	}
	if more := len(all) - maxShown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more changes", more))
	}
	return strings.Join(texts, "; ")
}

// Larger returns those by which more is wanted than before; nil: there are none.
func (all Diff) Larger() Diff {
	var out Diff
	for _, c := range all {
		if c.Larger {
			out = append(out, c)
		}
	}
	return out
}

// Changes returns what differs between an earlier declaration and n; nil: they say the
// same. To declare nothing, a nil *tool.Needs, is to want everything, and memory or processors that
// are not said are more than any. Both declarations have to pass [Check].
func Changes(n, before *tool.Needs) Diff {
	n, before = Normal(n), Normal(before)
	switch {
	case n == nil && before == nil:
		return nil
	case n == nil:
		return Diff{{Was: before.String(), Larger: true}}
	case before == nil:
		return Diff{{Is: n.String()}}
	}
	var out Diff
	for _, l := range grant.Lists {
		was, is, had := *l.List(before), *l.List(n), gives(before, l)
		for _, e := range is {
			if !slices.Contains(was, e) {
				out = append(out, Change{Line: l.Name, Is: e, Larger: !covered(l, e, had)})
			}
		}
		for _, e := range was {
			if !slices.Contains(is, e) {
				out = append(out, Change{Line: l.Name, Was: e})
			}
		}
	}
	for _, l := range grant.Amounts {
		if was, is := l.Amount(before), l.Amount(n); is != was {
			text := func(n *tool.Needs) string { return cmp.Or(l.Text(n), "not said") }
			out = append(out, Change{l.Name, text(before), text(n), moreThan(is, was)})
		}
	}
	return out
}

// Within returns what both a declaration and a ceiling give: the lists have what is in both,
// and memory and processors are the smaller ones. To a nil *tool.Needs, on either side, there is no
// bound; nil if both are. Both have to pass [Check].
func Within(n, ceiling *tool.Needs) *tool.Needs {
	n, ceiling = Normal(n), Normal(ceiling)
	switch {
	case n == nil:
		return ceiling
	case ceiling == nil:
		return n
	}
	out := *n
	for _, l := range grant.Lists {
		mine, given := gives(n, l), gives(ceiling, l)
		*l.List(&out) = slices.DeleteFunc(slices.Concat(mine, given), func(e string) bool {
			return !covered(l, e, mine) || !covered(l, e, given)
		})
	}
	for _, l := range grant.Amounts {
		if moreThan(l.Amount(n), l.Amount(ceiling)) {
			l.Copy(&out, ceiling)
		}
	}
	// What it may write it may read.
	out.Read = slices.DeleteFunc(out.Read, func(e string) bool { return slices.Contains(out.Write, e) })
	return Normal(&out)
}

// gives returns what a declaration gives of a list: what is written may be read too.
func gives(n *tool.Needs, l grant.Line) []string {
	if l.Name == "read" {
		return slices.Concat(n.Read, n.Write)
	}
	return *l.List(n)
}

// covered reports whether one of entries gives all that an entry does.
func covered(l grant.Line, entry string, entries []string) bool {
	return slices.ContainsFunc(entries, func(wide string) bool { return l.Covers(wide, entry) })
}

// moreThan compares bounds, of which 0 is none.
func moreThan(a, b float64) bool { return b != 0 && (a == 0 || a > b) }
