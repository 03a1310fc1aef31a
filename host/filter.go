package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Filter selects tools. The zero value selects all; a tool has to meet all conditions that
// are set.
type Filter struct {
	// MaxSafety selects tools at or below a level. Unset: any.
	MaxSafety tool.Safety
	// Categories selects tools with any of them. Empty: any.
	Categories []string
	// Search selects tools whose name, title or description contains the text, ignoring
	// case. Empty: any.
	Search string
	// Without leaves out the tools that came with an owner, see [Tool.Owner]. Empty: none.
	Without string
}

func (f Filter) match(d *tool.Definition) bool {
	if f.MaxSafety != tool.Unset && d.Safety.Effective() > f.MaxSafety {
		return false
	}
	among := func(c string) bool { return slices.Contains(d.Categories, c) }
	if len(f.Categories) > 0 && !slices.ContainsFunc(f.Categories, among) {
		return false
	}
	if f.Search == "" {
		return true
	}
	want := strings.ToLower(f.Search)
	return slices.ContainsFunc([]string{d.Name, d.Title, d.Description}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), want)
	})
}

// maxChoices bounds how many filters one snapshot remembers.
const maxChoices = 64

// choices remembers what filters selected from one snapshot: an agent asks for the same
// tools at each turn, and tools change seldom. As with the snapshot itself, readers take no
// lock: the map is replaced whole, and if two do so at once, one is forgotten. The zero
// value is empty.
type choices struct {
	set atomic.Pointer[map[string][]*entry]
}

// of returns the entries of sorted that pass f.
func (c *choices) of(f Filter, sorted []*entry) []*entry {
	if f.MaxSafety == tool.Unset && len(f.Categories) == 0 && f.Search == "" && f.Without == "" {
		return sorted
	}
	key := fmt.Sprintf("%d %q %q %q", f.MaxSafety, f.Categories, f.Search, f.Without)
	known := c.set.Load()
	if known != nil {
		if chosen, ok := (*known)[key]; ok {
			return chosen
		}
	}
	var chosen []*entry
	for _, e := range sorted {
		if (f.Without == "" || e.owner != f.Without) && f.match(e.def) {
			chosen = append(chosen, e)
		}
	}
	next := map[string][]*entry{key: chosen}
	if known != nil && len(*known) < maxChoices {
		maps.Copy(next, *known)
	}
	c.set.Store(&next)
	return chosen
}
