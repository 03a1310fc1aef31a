package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// check notes settings that are each possible and together are not.
func (d *decoder) check(c *Config) {
	d.checkDirectories(c.PluginDirs)
	d.checkPlugin("defaults", c.Defaults, false)
	d.checkSpelling(c)
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		d.checkPlugin(below("plugins", name), c.Plugins[name], true)
	}
	d.checkNames(c.Tools)
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		d.checkCaller(below("callers", name), c.Callers[name])
	}
}

// at notes a problem with a setting that is there; the nearest one that is, where it
// is not.
func (d *decoder) at(key, hint, format string, args ...any) {
	at, ok := d.places[key]
	for parent := key; !ok && parent != ""; at, ok = d.places[parent] {
		parent = parent[:max(0, strings.LastIndexByte(parent, '.'))]
	}
	d.add(at, key, hint, format, args...)
}

func (d *decoder) has(key string) bool {
	_, ok := d.places[key]
	return ok
}

func (d *decoder) checkDirectories(dirs []string) {
	for i, dir := range dirs {
		if slices.Index(dirs, dir) < i && dir != "" {
			d.at("plugin_dirs["+strconv.Itoa(i)+"]", "keep one of them", "the directory %s is there twice", shown(filepath.ToSlash(dir)))
		}
	}
}

// checkSpelling finds plugins whose names differ in case only: of such files in a
// directory, the first one alone is run.
func (d *decoder) checkSpelling(c *Config) {
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		if other, ok := first[strings.ToLower(name)]; ok {
			d.at(below("plugins", name), "keep the one that is spelt as the file", "%s and %s differ in case only", other, name)
		}
		first[strings.ToLower(name)] = name
	}
}

// checkPlugin looks at what the file says here. What a plugin has from the defaults
// is told there, unless it contradicts what stands here.
func (d *decoder) checkPlugin(key string, p Plugin, inherits bool) {
	limits, restart := below(key, "limits"), below(key, "restart")
	d.pair(inherits, limits+".waiting", limits+".running", p.Limits.Running == 0,
		"remove it, or bound running", "nothing waits where running is unlimited")
	r := p.Restart
	if r.Free == Unlimited {
		for _, name := range []string{"backoff", "max_backoff", "quarantine", "cooldown", "max_cooldown", "lasting"} {
			d.pair(inherits, restart+"."+name, restart+".free", true,
				"remove it, or bound free", "it has no effect where free is unlimited")
		}
		return
	}
	d.bounds(restart, "backoff", "max_backoff", r.Backoff, r.MaxBackoff)
	d.bounds(restart, "cooldown", "max_cooldown", r.Cooldown, r.MaxCooldown)
	if r.Quarantine <= r.Free {
		at := restart + ".quarantine"
		if !d.has(at) {
			at = restart + ".free"
		}
		if d.has(at) {
			d.at(at, "make quarantine the larger one", "quarantine, %d, is not above free, %d", r.Quarantine, r.Free)
		}
	}
}

// pair notes a setting that makes no sense beside another one, if it stands here.
func (d *decoder) pair(inherits bool, setting, beside string, wrong bool, hint, message string) {
	if wrong && d.has(setting) && (inherits || d.has(beside)) {
		d.at(setting, hint, "%s", message)
	}
}

// bounds notes a first value above its limit, if one of the two stands here.
func (d *decoder) bounds(parent, first, most string, value, limit Duration) {
	if value <= limit {
		return
	}
	for _, name := range []string{first, most} {
		if at := parent + "." + name; d.has(at) {
			d.at(at, "change one of them", "%s, %v, is above %s, %v", first, value, most, limit)
			return
		}
	}
}

// checkNames finds tools that would have one name.
func (d *decoder) checkNames(tools map[string]Tool) {
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		key := below(below("tools", name), "rename")
		switch {
		case t.Rename == "":
			continue
		case t.Rename == name:
			d.at(key, "remove it", "the tool has this name already")
			continue
		case taken[t.Rename] != "":
			d.at(key, "choose another", "%s is renamed to %s too", taken[t.Rename], t.Rename)
			continue
		}
		if other, ok := tools[t.Rename]; ok && other.Rename == "" && !other.Disable {
			d.at(key, "choose another, or rename or disable that one", "there is a tool %s already, under tools", t.Rename)
		}
		taken[t.Rename] = name
	}
}

func (d *decoder) checkCaller(key string, c Caller) {
	for i, pattern := range c.Tools.Deny {
		if pattern != "" && slices.Contains(c.Tools.Allow, pattern) {
			d.at(key+".tools.deny["+strconv.Itoa(i)+"]", "remove it from one of them", "%s is both allowed and denied", pattern)
		}
	}
	for i, grant := range c.Grants {
		if grant != "" && slices.Index(c.Grants, grant) < i {
			d.at(key+".grants["+strconv.Itoa(i)+"]", "keep one of them", "%s is there twice", grant)
		}
	}
}
