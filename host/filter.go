package host

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Filter chooses tools. The zero value chooses all; conditions that are set all
// have to hold.
type Filter struct {
	// MaxSafety chooses tools at or below a level. Unset: any.
	MaxSafety tool.Safety
	// Categories chooses tools with any of them. Empty: any.
	Categories []string
	// Search chooses tools whose name, title or description contains the text,
	// case aside. Empty: any.
	Search string
}

func (f Filter) match(d *tool.Definition) bool {
	if f.MaxSafety != tool.Unset && d.Safety.Effective() > f.MaxSafety {
		return false
	}
	if len(f.Categories) > 0 && !slices.ContainsFunc(f.Categories, func(c string) bool { return slices.Contains(d.Categories, c) }) {
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
