package main

import (
	"path/filepath"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/state"
)

// keptNames remembers which plugin has which names of tools, in the user's state directory.
// Where the system knows none, nothing is remembered.
func keptNames() []host.Option {
	dir, err := state.Dir()
	if err != nil {
		return nil
	}
	return []host.Option{host.WithNames(filepath.Join(dir, "names.json"))}
}
