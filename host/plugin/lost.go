package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// LostName is a name that is not served, as another owner has it.
type LostName struct {
	Tool string `json:"tool"`
	// Kind is prompt, resource or template, if it is not the name of a tool but that of a prompt or a
	// URI. Empty: it is a tool's.
	Kind string `json:"kind,omitempty"`
	To   string `json:"to,omitempty"` // a plugin, or another provider; empty: the embedding program
}

// LostLines says in a line for each owner, and kind, which names of a plugin are not served, as the
// owner has them.
func LostLines(loser string, lost []LostName) (lines []string) {
	by := map[LostName][]string{}
	for _, l := range lost {
		of := LostName{Kind: l.Kind, To: l.To}
		by[of] = append(by[of], l.Tool)
	}
	of := slices.SortedFunc(maps.Keys(by), func(a, b LostName) int {
		return cmp.Or(strings.Compare(a.To, b.To), strings.Compare(a.Kind, b.Kind))
	})
	for _, l := range of {
		names, kind, served := by[l], cmp.Or(l.Kind, "tool"), "not served"
		if kind == "prompt" {
			served = "served as " + loser + ".NAME"
		}
		what := kind + " " + names[0] + " of plugin " + loser + " is " + served + ", as %s has its name"
		if len(names) > 1 {
			what = fmt.Sprintf("%d %ss of plugin %s are %s, as %%s has their names: %s", len(names), kind, loser, served, someOf(names))
		}
		who := cmp.Or(l.To, "this program")
		if l.To != "" {
			who = "plugin " + l.To
		}
		lines = append(lines, fmt.Sprintf(what, who))
	}
	return lines
}

// someOf returns the first few of names.
func someOf(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}
