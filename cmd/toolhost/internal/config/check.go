package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/setting"
)

// check notes settings that contradict each other.
func (r *reader) check(c *Config) {
	for i, dir := range c.PluginDirs {
		if slices.Index(c.PluginDirs, dir) < i && dir != "" {
			r.at(item("plugin_dirs", i), "keep one of them", "the directory %s is there twice", shown(filepath.ToSlash(dir)))
		}
	}
	r.checkPlugin("defaults", c.Defaults, false)
	spelling := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		key, lower := below("plugins", name), strings.ToLower(name)
		if other, ok := spelling[lower]; ok { // only one of two such files is run
			r.at(key, "keep the one that is spelled like the file", "%s and %s differ in case only", other, name)
		}
		spelling[lower] = name
		r.checkPlugin(key, c.Plugins[name], true)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		key, lower := below("mcp_servers", name), strings.ToLower(name)
		if other, ok := spelling[lower]; ok { // their tools would have the same names
			r.at(key, "give the server another name", "there is %s already", other)
		}
		spelling[lower] = name
	}
	r.checkTrust(c.Trust)
	r.checkSandboxes(c)
	r.checkNames(c.Tools)
	r.checkMCP(c.MCP)
	r.checkNATS(c.NATS)
	users, subjects := map[int]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		key, caller := below("callers", name), c.Callers[name]
		r.checkCaller(key, caller)
		if subject := caller.Subject; subject != "" {
			if other, ok := subjects[subject]; ok {
				r.at(key+".subject", "give each caller its own", "%s has this subject too", other)
			}
			subjects[subject] = name
		}
		if caller.UID == nil {
			continue
		}
		if other, ok := users[*caller.UID]; ok {
			r.at(key+".uid", "give each caller its own", "%s is the user %d too", other, *caller.UID)
		}
		users[*caller.UID] = name
	}
}

// at notes a problem with a setting.
func (r *reader) at(key, hint, format string, args ...any) {
	r.add(nearest(r.places, key), key, hint, format, args...)
}

func (r *reader) has(key string) bool {
	_, ok := r.places[key]
	return ok
}

// checkPlugin looks at what the file says here. A named plugin inherits the defaults,
// whose problems are noted there, unless they contradict what stands here.
func (r *reader) checkPlugin(key string, p Plugin, inherits bool) {
	limits, restart := key+".limits.", key+".restart."
	if p.Limits.Running == 0 {
		r.useless(limits+"waiting", limits+"running", inherits, "nothing waits if running is unlimited")
	}
	policy := p.Restart
	if policy.Free < 0 {
		for _, name := range []string{"backoff", "max_backoff", "quarantine", "cooldown", "max_cooldown", "lasting"} {
			r.useless(restart+name, restart+"free", inherits, "it has no effect if free is unlimited")
		}
		return
	}
	r.ordered(restart, "backoff", "max_backoff", policy.Backoff, policy.MaxBackoff)
	r.ordered(restart, "cooldown", "max_cooldown", policy.Cooldown, policy.MaxCooldown)
	if policy.Quarantine > policy.Free {
		return
	}
	for _, name := range []string{"quarantine", "free"} {
		if r.has(restart + name) {
			hint := "make quarantine the larger one"
			r.at(restart+name, hint, "quarantine, %d, is not above free, %d", policy.Quarantine, policy.Free)
			return
		}
	}
}

// useless notes a setting that another one, which is unlimited, makes useless.
func (r *reader) useless(setting, other string, inherits bool, message string) {
	if r.has(setting) && (inherits || r.has(other)) {
		r.at(setting, "remove it, or bound "+other[strings.LastIndexByte(other, '.')+1:], "%s", message)
	}
}

// ordered notes a value above its limit, if one of the two stands here.
func (r *reader) ordered(parent, name, most string, value, limit time.Duration) {
	for _, at := range []string{name, most} {
		if value > limit && r.has(parent+at) {
			text := "%s, %s, is above %s, %s"
			r.at(parent+at, "change one of them", text, name, setting.Duration(value), most, setting.Duration(limit))
			return
		}
	}
}

// checkNames finds tools that would have the same name.
func (r *reader) checkNames(tools map[string]Tool) {
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		to, key := tools[name].Name, below("tools", name)+".rename"
		other, there := tools[to]
		switch {
		case to == "":
			continue
		case to == name:
			r.at(key, "remove it", "the tool has this name already")
			continue
		case taken[to] != "":
			r.at(key, "choose another", "%s is renamed to %s too", taken[to], to)
			continue
		case there && other.Name == "" && !other.Disabled:
			r.at(key, "choose another, or rename or disable that tool", "there is a tool %s already, under tools", to)
		}
		taken[to] = name
	}
}

func (r *reader) checkCaller(key string, c Caller) {
	for i, pattern := range c.Tools.Deny {
		if pattern != "" && slices.Contains(c.Tools.Allow, pattern) {
			r.at(item(key+".tools.deny", i), "remove it from one of them", "%s is both allowed and denied", pattern)
		}
	}
	for i, grant := range c.Grants {
		if grant != "" && slices.Index(c.Grants, grant) < i {
			r.at(item(key+".grants", i), "keep one of them", "%s is there twice", grant)
		}
	}
}
