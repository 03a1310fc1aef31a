package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// LostName is the name of a tool that is not served, as another owner has it.
type LostName struct {
	Tool string `json:"tool"`
	To   string `json:"to,omitempty"` // a plugin, or another provider; empty: the embedding program
}

// LostLines says in a line for each owner which tools of a plugin are not served, as the
// owner has their names.
func LostLines(loser string, lost []LostName) (lines []string) {
	by := map[string][]string{}
	for _, l := range lost {
		by[l.To] = append(by[l.To], l.Tool)
	}
	var owners []string
	for owner := range by {
		owners = append(owners, owner)
	}
	slices.Sort(owners)
	for _, owner := range owners {
		tools := by[owner]
		what := "tool " + tools[0] + " of plugin " + loser + " is not served, as %s has its name"
		if len(tools) > 1 {
			what = fmt.Sprintf("%d tools of plugin %s are not served, as %%s has their names: %s", len(tools), loser, someOf(tools))
		}
		who := cmp.Or(owner, "this program")
		if owner != "" {
			who = "plugin " + owner
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
