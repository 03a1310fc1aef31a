package pluginrun

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/plugin"
)

// LostLines says in a line for each owner, and kind, which names of a plugin are not served, as the
// owner has them.
func LostLines(loser string, lost []plugin.LostName) (lines []string) {
	by := map[plugin.LostName][]string{}
	for _, l := range lost {
		of := plugin.LostName{Kind: l.Kind, To: l.To}
		by[of] = append(by[of], l.Tool)
	}
	of := slices.SortedFunc(maps.Keys(by), func(a, b plugin.LostName) int {
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
