package control

import (
	"fmt"
	"slices"
	"strings"
)

// Identity is what a command and a daemon have to have in common, so that it is the
// same whether a command uses the daemon or works on its own. Paths are absolute, with
// links resolved.
type Identity struct {
	// Root is the workspace.
	Root string `json:"root"`
	// Config is the configuration file; empty: there is none.
	Config string `json:"config,omitempty"`
	// ConfigDigest is of the file's content as it is in force.
	ConfigDigest string `json:"config_digest,omitempty"`
	// PluginDirs are in the order in which names are given out.
	PluginDirs []string `json:"plugin_dirs"`
}

// Difference says what a daemon has otherwise than a command; empty: nothing.
func (daemon Identity) Difference(command Identity) string {
	var out []string
	other := func(what, theirs, ours string) {
		if theirs != ours {
			out = append(out, fmt.Sprintf("its %s is %s, this command's %s", what, orNone(theirs), orNone(ours)))
		}
	}
	other("root", daemon.Root, command.Root)
	other("configuration", daemon.Config, command.Config)
	if daemon.Config == command.Config && daemon.ConfigDigest != command.ConfigDigest {
		out = append(out, "it runs with an earlier content of "+orNone(daemon.Config))
	}
	if !slices.Equal(daemon.PluginDirs, command.PluginDirs) {
		other("plugin directory", strings.Join(daemon.PluginDirs, " and "), strings.Join(command.PluginDirs, " and "))
	}
	return strings.Join(out, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
