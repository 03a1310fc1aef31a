// Package toggle knows which plugins the operator has switched off and on: that is in their records,
// and so apart from the configuration file, which only people write. Begin with [Read].
package toggle

import (
	"fmt"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/state"
)

// Read reads the records of plugins. Records that cannot be read are an error: they may name
// plugins that must not run.
func Read() (known.Records, error) {
	dir, err := state.Dir()
	if err != nil {
		return nil, nil //nolint:nilerr // without a state directory nothing was ever written
	}
	book, err := known.Open(dir)
	if err != nil {
		return nil, exit.With(exit.BadUsage, fmt.Errorf("the list of enabled and disabled plugins cannot be used: %w", err))
	}
	return book.All(), nil
}

// Disable returns settings in which the plugins are disabled that were switched off in one of the
// directories.
func Disable(all known.Records, settings func(string) plugin.Settings, dirs []string) func(string) plugin.Settings {
	off := map[string]bool{}
	for _, dir := range dirs {
		if path, err := paths.Canonical(dir); err == nil {
			for name, one := range all[path] {
				off[name] = off[name] || one.Disabled
			}
		}
	}
	return func(name string) plugin.Settings {
		s := settings(name)
		s.Enabled = s.Enabled && !off[name]
		return s
	}
}

// IsOff reports whether an MCP server of a file was switched off.
func IsOff(all known.Records, file, name string) bool {
	path, err := paths.Canonical(file)
	return err == nil && all.Of(known.Plugin{Dir: path, Name: name}).Disabled
}

// Hold returns why a plugin is held: it was never switched on in its directory. Empty: it was.
func Hold(all known.Records, c plugin.Candidate) (reason string) {
	dir, err := paths.Canonical(filepath.Dir(c.Path))
	if err == nil && all.Of(known.Plugin{Dir: dir, Name: c.Name}).Enabled {
		return ""
	}
	return "new: toolhost plugins enable " + c.Name + " runs it"
}
