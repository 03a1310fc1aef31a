// Package toggle remembers which plugins the operator has switched off and on, in the user's
// state directory and so apart from the configuration file, which only people write. Begin
// with [Read].
package toggle

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/state"
)

// List names one of the lists, which is a file in the user's state directory.
type List string

// The lists.
const (
	Disabled List = "disabled.json" // plugins that toolhost plugins disable has switched off
	Enabled  List = "enabled.json"  // plugins that toolhost plugins enable has ever switched on
)

// Names are names of plugins by plugin directory, and of MCP servers by the file that has them.
type Names map[string][]string

// Read reads a list. A list that cannot be read is an error: it may name plugins that must
// not run.
func Read(list List) (Names, error) {
	file, err := state.In[Names](string(list))
	if err != nil {
		return nil, nil //nolint:nilerr // without a state directory nothing was ever written
	}
	names, err := file.Read()
	if err != nil {
		return nil, exit.With(exit.BadUsage, fmt.Errorf("the list of enabled and disabled plugins cannot be used: %w", err))
	}
	return names, nil
}

// Set adds a plugin of a directory to a list or removes it, and reports whether that changed
// the list.
func Set(list List, dir, name string, on bool) (changed bool, err error) {
	file, err := state.In[Names](string(list))
	if err != nil {
		return false, err
	}
	err = file.Update(func(n *Names) error {
		if *n == nil {
			*n = Names{}
		}
		changed = n.set(dir, name, on)
		return nil
	})
	return changed && err == nil, err
}

func (n Names) set(dir, name string, on bool) (changed bool) {
	names := n[dir]
	i := slices.Index(names, name)
	if on == (i >= 0) {
		return false
	}
	if on {
		n[dir] = append(names, name)
		slices.Sort(n[dir])
		return true
	}
	if names = slices.Delete(names, i, i+1); len(names) == 0 {
		delete(n, dir)
	} else {
		n[dir] = names
	}
	return true
}

// Disable returns settings in which the plugins are disabled that are named for one of the
// directories.
func (n Names) Disable(settings func(string) plugin.Settings, dirs []string) func(string) plugin.Settings {
	off := map[string]bool{}
	for _, dir := range dirs {
		if path, err := paths.Canonical(dir); err == nil {
			for _, name := range n[path] {
				off[name] = true
			}
		}
	}
	return func(name string) plugin.Settings {
		s := settings(name)
		s.Enabled = s.Enabled && !off[name]
		return s
	}
}

// Has reports whether an MCP server of a file is named.
func (n Names) Has(file, name string) bool {
	path, err := paths.Canonical(file)
	return err == nil && slices.Contains(n[path], name)
}

// Hold returns why a plugin is held: it is not named for its directory. Empty: it is.
func (n Names) Hold(c plugin.Candidate) (reason string) {
	dir, err := paths.Canonical(filepath.Dir(c.Path))
	if err == nil && slices.Contains(n[dir], c.Name) {
		return ""
	}
	return "new: toolhost plugins enable " + c.Name + " runs it"
}
