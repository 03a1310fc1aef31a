package config

import (
	"maps"
	"reflect"
	"slices"
)

// groups are the settings that Changes lists by what is beneath them.
var groups = []string{"defaults", "plugins", "mcp_servers", "tools", "callers"}

// Changes are the keys, sorted, of what differs between two configurations.
type Changes struct {
	// Host are settings of the whole process: all but the groups below.
	Host []string
	// Defaults are settings of plugins that are not named.
	Defaults []string
	// Plugins are the settings of each named plugin. All plugins that either file names
	// are in it; those for which nothing changed have none.
	Plugins map[string][]string
	// Servers, Tools and Callers are names.
	Servers, Tools, Callers []string
}

// Diff compares two configurations. It does not look at what the references of an
// environment lead to.
func Diff(before, after *Config) Changes {
	a, b := before.tree(), after.tree()
	c := Changes{
		Host:     slices.DeleteFunc(differing(a, b, nil), func(key string) bool { return slices.Contains(groups, key) }),
		Defaults: diffPlugin(before.Defaults, after.Defaults, a["defaults"], b["defaults"]),
		Plugins:  map[string][]string{},
		Servers:  Differing(before.Servers, after.Servers, Server{}),
		Tools:    differing(a["tools"], b["tools"], shownMapping(root().Member("tools").Each, Tool{})),
		Callers:  differing(a["callers"], b["callers"], shownMapping(root().Member("callers").Each, Caller{})),
	}
	for _, named := range []map[string]Plugin{before.Plugins, after.Plugins} {
		for name := range named {
			c.Plugins[name] = diffPlugin(before.Plugin(name), after.Plugin(name), pluginIn(a, name), pluginIn(b, name))
		}
	}
	return c
}

// pluginIn returns the settings of a plugin in a tree.
func pluginIn(tree map[string]any, name string) any {
	plugins, _ := tree["plugins"].(map[string]any)
	if p, ok := plugins[name]; ok {
		return p
	}
	return tree["defaults"]
}

// diffPlugin compares two plugins, of which the trees do not have the secrets.
func diffPlugin(before, after Plugin, a, b any) []string {
	keys := differing(a, b, nil)
	if !slices.Contains(keys, "environment") && !before.Environment.Equal(after.Environment) {
		keys = append(keys, "environment")
		slices.Sort(keys)
	}
	return keys
}

// differing returns the keys, sorted, of members that differ between two mappings. Absent
// is what a member that is absent stands for.
func differing(a, b, absent any) []string {
	before, _ := a.(map[string]any)
	after, _ := b.(map[string]any)
	return Differing(before, after, absent)
}

// Differing returns the keys, sorted, whose values differ between two maps. Absent is the value of
// a key that one of them does not have.
func Differing[V any](a, b map[string]V, absent V) (keys []string) {
	in := func(m map[string]V, key string) V {
		if v, ok := m[key]; ok && any(v) != nil {
			return v
		}
		return absent
	}
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	for _, key := range slices.Compact(all) {
		if !reflect.DeepEqual(in(a, key), in(b, key)) {
			keys = append(keys, key)
		}
	}
	return keys
}
