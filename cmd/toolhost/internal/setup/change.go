package setup

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/plugin"
)

// Loaded is a configuration with what its references led to.
type Loaded struct {
	Config  *config.Config
	Plugins Settings
	// Hold is why a plugin's file is not to be run; empty: it may. Nil: all may.
	Hold func(plugin.Candidate) (reason string)
}

// Changes are the differences between two configurations, one line each, by the names
// of what is set. No value is in them.
func Changes(before, after Loaded) []string {
	d := config.Diff(before.Config, after.Config)
	out := slices.Clone(d.Host)
	if d.Defaults.Any() {
		out = append(out, "defaults: "+keys(d.Defaults, false))
	}
	for _, name := range pluginNames(before.Config, after.Config) {
		change := d.Plugin(name)
		_, was := before.Config.Plugins[name]
		_, is := after.Config.Plugins[name]
		own := was || is
		secret := !slices.Contains(change.Process, "environment") && !slices.Equal(before.Plugins(name).Env, after.Plugins(name).Env)
		if own && (change.Any() || secret) {
			out = append(out, "plugin "+name+": "+keys(change, secret))
		} else if !own && secret {
			out = append(out, "defaults: a value that environment refers to")
		}
	}
	for _, name := range d.Tools {
		out = append(out, "tool "+name)
	}
	for _, name := range d.Callers {
		out = append(out, "caller "+name)
	}
	return out
}

// pluginNames are those that either names, sorted, behind the empty one, which stands
// for the others.
func pluginNames(a, b *config.Config) []string {
	all := map[string]bool{"": true}
	for _, c := range []*config.Config{a, b} {
		for name := range c.Plugins {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func keys(c config.PluginChange, secret bool) string {
	all := slices.Sorted(slices.Values(append(slices.Clone(c.Process), c.Policy...)))
	if secret {
		all = append(all, "a value that environment refers to")
	}
	return strings.Join(all, ", ")
}
