package control

import (
	"fmt"
	"slices"
	"strings"
)

// Identity is what a command and a daemon must have in common, so that a command does the same
// with the daemon as on its own. Paths are absolute, with links resolved.
type Identity struct {
	// Root is the workspace.
	Root string `json:"root"`
	// Config is the configuration file; empty if there is none.
	Config string `json:"config,omitempty"`
	// ConfigDigest is the digest of the content in effect.
	ConfigDigest string `json:"config_digest,omitempty"`
	// PluginDirs are in the order in which tools get their names.
	PluginDirs []string `json:"plugin_dirs"`
	// MCPConfigs are the files of --mcp-config, in their order.
	MCPConfigs []MCPConfig `json:"mcp_configs,omitempty"`
}

// MCPConfig is a file of MCP servers.
type MCPConfig struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // of the content in effect
}

// Difference says how a daemon differs from a command; empty if it does not.
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
		out = append(out, "it runs with an earlier version of "+orNone(daemon.Config))
	}
	if !slices.Equal(daemon.PluginDirs, command.PluginDirs) {
		other("plugin directory", strings.Join(daemon.PluginDirs, " and "), strings.Join(command.PluginDirs, " and "))
	}
	named := func(i Identity) string {
		var all []string
		for _, f := range i.MCPConfigs {
			all = append(all, f.Path)
		}
		return strings.Join(all, " and ")
	}
	other("file of MCP servers", named(daemon), named(command))
	for i, f := range daemon.MCPConfigs {
		if named(daemon) == named(command) && f != command.MCPConfigs[i] {
			out = append(out, "it runs with an earlier version of "+f.Path+" (toolhost reload)")
		}
	}
	return strings.Join(out, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
