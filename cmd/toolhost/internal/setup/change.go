package setup

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/host/plugin"
)

// Loaded is a configuration with its references resolved.
type Loaded struct {
	Config  *config.Config
	Plugins Settings
	// Hold returns why a plugin's file must not be run; empty: it may, with this content. Nil: all may.
	Hold func(plugin.Candidate) (reason, sha256 string)
	// Servers are the MCP servers. Nil: none.
	Servers *servers.Set
}

// Changes returns the differences between two configurations, a line each, by the names of
// settings and without their values.
func Changes(before, after Loaded) []string {
	d := config.Diff(before.Config, after.Config)
	out := slices.Clone(d.Host)
	add := func(what, plugin string, keys []string) {
		if !slices.Contains(keys, "environment") && !slices.Equal(before.Plugins(plugin).Env, after.Plugins(plugin).Env) {
			keys = append(keys, "a value that environment refers to")
		}
		if len(keys) > 0 {
			out = append(out, what+": "+strings.Join(keys, ", "))
		}
	}
	add("defaults", "", d.Defaults)
	for _, name := range slices.Sorted(maps.Keys(d.Plugins)) {
		add("plugin "+name, name, d.Plugins[name])
	}
	changed := d.Servers
	if before.Servers != nil && after.Servers != nil { // with those of other files
		changed = after.Servers.Changed(before.Servers)
	}
	for _, name := range changed {
		out = append(out, "MCP server "+name)
	}
	for _, name := range d.Tools {
		out = append(out, "tool "+name)
	}
	for _, name := range d.Callers {
		out = append(out, "caller "+name)
	}
	return out
}
