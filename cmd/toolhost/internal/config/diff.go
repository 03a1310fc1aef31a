package config

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
)

// Changes are the differences between two configurations, by what has to be done
// about them. The zero value: none.
type Changes struct {
	// Host are keys, sorted, that hold for the process as a whole: plugin_dirs, root,
	// cache_dir, socket, lock, hold_new, log_level, audit and approvals.
	Host []string
	// Plugins are those that are named in either file and whose settings changed,
	// sorted by name.
	Plugins []PluginChange
	// Defaults is what changed for plugins that are named in neither; its Name is
	// empty.
	Defaults PluginChange
	// Tools and Callers are names, sorted, for which something changed.
	Tools, Callers []string
}

// PluginChange is what changed for one plugin.
type PluginChange struct {
	Name string
	// Process are keys, sorted, that a running process cannot be told: it needs a new
	// one.
	Process []string
	// Policy are keys, sorted, that hold from the next call or start on.
	Policy []string
}

// Restart reports whether the plugin needs a new process.
func (p PluginChange) Restart() bool { return len(p.Process) > 0 }

// Any reports whether anything changed.
func (p PluginChange) Any() bool { return len(p.Process)+len(p.Policy) > 0 }

// Any reports whether anything changed.
func (c Changes) Any() bool {
	return len(c.Host)+len(c.Plugins)+len(c.Tools)+len(c.Callers) > 0 || c.Defaults.Any()
}

// Plugin is what changed for a plugin, named in a file or not.
func (c Changes) Plugin(name string) PluginChange {
	i, found := slices.BinarySearchFunc(c.Plugins, name, func(p PluginChange, name string) int {
		switch {
		case p.Name < name:
			return -1
		case p.Name > name:
			return 1
		}
		return 0
	})
	if found {
		return c.Plugins[i]
	}
	out := c.Defaults
	out.Name = name
	return out
}

// Diff compares two configurations. What references of an environment lead to is not
// looked at, so that a changed secret alone is no change.
//
// A plugin that is named in one of the files is compared with what holds for it in
// the other, and is listed even if nothing changed for it while the defaults did, so
// that [Changes.Plugin] knows.
func Diff(before, after *Config) Changes {
	var c Changes
	for key, same := range map[string]bool{
		"plugin_dirs": slices.Equal(before.PluginDirs, after.PluginDirs),
		"root":        before.Root == after.Root, "cache_dir": before.CacheDir == after.CacheDir, "socket": before.Socket == after.Socket,
		"log_level": before.LogLevel == after.LogLevel, "audit": before.Audit == after.Audit,
		"lock": before.Lock == after.Lock, "hold_new": before.HoldNew == after.HoldNew,
		"approvals": before.Approvals == after.Approvals,
	} {
		if !same {
			c.Host = append(c.Host, key)
		}
	}
	slices.Sort(c.Host)
	c.Defaults = diffPlugin("", before.Defaults, after.Defaults)
	for _, name := range namesOf(before.Plugins, after.Plugins) {
		if p := diffPlugin(name, before.Plugin(name), after.Plugin(name)); p.Any() || c.Defaults.Any() {
			c.Plugins = append(c.Plugins, p)
		}
	}
	for _, name := range namesOf(before.Tools, after.Tools) {
		if !reflect.DeepEqual(before.Tool(name), after.Tool(name)) {
			c.Tools = append(c.Tools, name)
		}
	}
	for _, name := range namesOf(before.Callers, after.Callers) {
		if !reflect.DeepEqual(before.Caller(name), after.Caller(name)) {
			c.Callers = append(c.Callers, name)
		}
	}
	return c
}

// namesOf are the keys of either, sorted.
func namesOf[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func diffPlugin(name string, a, b Plugin) PluginChange {
	out := PluginChange{Name: name}
	for key, same := range map[string]bool{
		"arguments": slices.Equal(a.Arguments, b.Arguments), "environment": a.Environment.Equal(b.Environment),
		"config": bytes.Equal(a.Config, b.Config), "carrier": a.Carrier == b.Carrier, "namespace": a.Namespace == b.Namespace,
		"limits": a.Limits == b.Limits,
	} {
		if !same {
			out.Process = append(out.Process, key)
		}
	}
	for key, same := range map[string]bool{
		"enabled": a.Enabled == b.Enabled, "previews": a.Previews == b.Previews, "idle_time": a.IdleTime == b.IdleTime,
		"start_timeout": a.StartTimeout == b.StartTimeout, "call_timeout": a.CallTimeout == b.CallTimeout,
		"max_timeout": a.MaxTimeout == b.MaxTimeout, "restart": a.Restart == b.Restart,
	} {
		if !same {
			out.Policy = append(out.Policy, key)
		}
	}
	slices.Sort(out.Process)
	slices.Sort(out.Policy)
	return out
}
