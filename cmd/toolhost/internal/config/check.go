package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
)

// check notes settings that are each possible and together are not.
func (r *reader) check(c *Config) {
	r.checkDirectories(c.PluginDirs)
	r.checkPlugin("defaults", c.Defaults, false)
	r.checkSpelling(c)
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		r.checkPlugin(below("plugins", name), c.Plugins[name], true)
	}
	r.checkNames(c.Tools)
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		r.checkCaller(below("callers", name), c.Callers[name])
	}
}

// at notes a problem with a setting that is there; the nearest one that is, where it
// is not.
func (r *reader) at(key, hint, format string, args ...any) {
	at, ok := r.places[key]
	for parent := key; !ok && parent != ""; at, ok = r.places[parent] {
		parent = parent[:max(0, strings.LastIndexByte(parent, '.'))]
	}
	r.add(at, key, hint, format, args...)
}

func (r *reader) has(key string) bool {
	_, ok := r.places[key]
	return ok
}

func (r *reader) checkDirectories(dirs []string) {
	for i, dir := range dirs {
		if slices.Index(dirs, dir) < i && dir != "" {
			r.at("plugin_dirs["+strconv.Itoa(i)+"]", "keep one of them", "the directory %s is there twice", shown(filepath.ToSlash(dir)))
		}
	}
}

// checkSpelling finds plugins whose names differ in case only: of such files in a
// directory, the first one alone is run.
func (r *reader) checkSpelling(c *Config) {
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		if other, ok := first[strings.ToLower(name)]; ok {
			r.at(below("plugins", name), "keep the one that is spelt as the file", "%s and %s differ in case only", other, name)
		}
		first[strings.ToLower(name)] = name
	}
}

// checkPlugin looks at what the file says here. What a plugin has from the defaults
// is told there, unless it contradicts what stands here.
func (r *reader) checkPlugin(key string, p Plugin, inherits bool) {
	limits, restart := below(key, "limits"), below(key, "restart")
	r.pair(inherits, limits+".waiting", limits+".running", p.Limits.Running == 0,
		"remove it, or bound running", "nothing waits where running is unlimited")
	policy := p.Restart
	if policy.Free < 0 {
		for _, name := range []string{"backoff", "max_backoff", "quarantine", "cooldown", "max_cooldown", "lasting"} {
			r.pair(inherits, restart+"."+name, restart+".free", true,
				"remove it, or bound free", "it has no effect where free is unlimited")
		}
		return
	}
	r.bounds(restart, "backoff", "max_backoff", policy.Backoff, policy.MaxBackoff)
	r.bounds(restart, "cooldown", "max_cooldown", policy.Cooldown, policy.MaxCooldown)
	if policy.Quarantine <= policy.Free {
		at := restart + ".quarantine"
		if !r.has(at) {
			at = restart + ".free"
		}
		if r.has(at) {
			r.at(at, "make quarantine the larger one", "quarantine, %d, is not above free, %d", policy.Quarantine, policy.Free)
		}
	}
}

// pair notes a setting that makes no sense beside another one, if it stands here.
func (r *reader) pair(inherits bool, setting, beside string, wrong bool, hint, message string) {
	if wrong && r.has(setting) && (inherits || r.has(beside)) {
		r.at(setting, hint, "%s", message)
	}
}

// bounds notes a first value above its limit, if one of the two stands here.
func (r *reader) bounds(parent, first, most string, value, limit time.Duration) {
	if value <= limit {
		return
	}
	for _, name := range []string{first, most} {
		if at := parent + "." + name; r.has(at) {
			r.at(at, "change one of them", "%s, %v, is above %s, %v", first, duration(value), most, duration(limit))
			return
		}
	}
}

// checkNames finds tools that would have one name.
func (r *reader) checkNames(tools map[string]host.Override) {
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		key := below(below("tools", name), "rename")
		switch {
		case t.Name == "":
			continue
		case t.Name == name:
			r.at(key, "remove it", "the tool has this name already")
			continue
		case taken[t.Name] != "":
			r.at(key, "choose another", "%s is renamed to %s too", taken[t.Name], t.Name)
			continue
		}
		if other, ok := tools[t.Name]; ok && other.Name == "" && !other.Disabled {
			r.at(key, "choose another, or rename or disable that one", "there is a tool %s already, under tools", t.Name)
		}
		taken[t.Name] = name
	}
}

func (r *reader) checkCaller(key string, c Caller) {
	for i, pattern := range c.Tools.Deny {
		if pattern != "" && slices.Contains(c.Tools.Allow, pattern) {
			r.at(key+".tools.deny["+strconv.Itoa(i)+"]", "remove it from one of them", "%s is both allowed and denied", pattern)
		}
	}
	for i, grant := range c.Grants {
		if grant != "" && slices.Index(c.Grants, grant) < i {
			r.at(key+".grants["+strconv.Itoa(i)+"]", "keep one of them", "%s is there twice", grant)
		}
	}
}
