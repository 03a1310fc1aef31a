package known

import (
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// LevelKey is the key of a level that the operator gave a tool, by its owner's name for it. Another
// level is another decision, so that configurations that give different ones share a record.
func LevelKey(name string, level tool.Safety) string { return name + " " + level.String() }

// Definition returns a definition as records have it, as text that can be compared; empty: it cannot
// be written, and no level is kept for it.
func Definition(d *tool.Definition) string {
	all, err := lockfile.Tools([]tool.Definition{*d})
	if err != nil {
		return ""
	}
	return all[d.Name]
}

// Give notes for which definition a level was given, by its [LevelKey].
func (r Records) Give(p Plugin, key, definition string) {
	r.Change(p, func(one *Record) {
		all := map[string]string{key: definition}
		for k, d := range one.Levels {
			if k != key {
				all[k] = d
			}
		}
		one.Levels = all
	})
}
