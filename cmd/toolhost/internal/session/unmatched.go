package session

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/servers"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Unmatched returns the names and patterns of a file that are those of none of the plugins and tools, of which
// claims have the plugin's name and the one that callers see, as a prohibition with a typing error prohibits
// nothing. While tools of a plugin are not known,
// as it is disabled or did not start, only names that are like a known one are returned.
func Unmatched(c *config.Config, plugins []plugin.Status, claims iter.Seq2[string, string]) []config.Problem {
	if len(c.Plugins)+len(c.Tools)+len(c.Callers)+len(c.NATS.Callers) == 0 {
		return nil
	}
	u := unmatched{c: c, plugins: map[string]bool{}, claimed: map[string]bool{}, seen: map[string]bool{}}
	for _, p := range plugins {
		u.plugins[p.Name] = true
		if p.Tools == 0 && p.State != plugin.Ready {
			u.silent = append(u.silent, p.Name)
		}
	}
	u.partly = len(u.silent) > 0 || len(c.NATS.Mount) > 0 || len(c.NATS.Peers) > 0 // other hosts come and go
	for claimed, seen := range claims {
		u.claimed[claimed], u.seen[seen] = true, true
	}
	if len(u.claimed) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		if !u.plugins[name] {
			u.add("there is no plugin "+name, name, u.plugins, "plugins", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if !u.claimed[name] {
			u.addTool("there is no tool "+name, name, u.claimed, "tools", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		u.patterns(c.Callers[name].Tools, "callers", name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.NATS.Callers)) {
		u.patterns(c.NATS.Callers[name].Tools, "nats", "callers", name)
	}
	return u.out
}

// unmatched collects what [Unmatched] returns.
type unmatched struct {
	c             *config.Config
	plugins       map[string]bool
	silent        []string // those whose tools are not known
	partly        bool     // not all tools are known
	claimed, seen map[string]bool
	out           []config.Problem
}

func (u *unmatched) patterns(v config.Visible, keys ...string) {
	for key, patterns := range map[string][]string{"allow": v.Allow, "deny": v.Deny} {
		for _, p := range patterns {
			if !u.matches(p) {
				u.addTool("no tool matches "+p, p, u.seen, append(slices.Clone(keys), "tools", key)...)
			}
		}
	}
}

func (u *unmatched) matches(pattern string) bool {
	for name := range u.seen {
		if config.Match(pattern, name) {
			return true
		}
	}
	return false
}

func (u *unmatched) addTool(message, name string, known map[string]bool, keys ...string) {
	of := func(plugin string) bool { return strings.HasPrefix(name, plugin+".") }
	if slices.ContainsFunc(u.silent, of) || u.partly && nearest(name, known) == "" {
		return
	}
	u.add(message, name, known, keys...)
}

func (u *unmatched) add(message, name string, known map[string]bool, keys ...string) {
	u.out = append(u.out, u.c.Problem(message, nearest(name, known), keys...))
}

func nearest(name string, known map[string]bool) string {
	if near := suggest.Nearest(name, slices.Sorted(maps.Keys(known)), 1); len(near) > 0 {
		return output.DidYouMean(near)
	}
	return ""
}

// UnmatchedTools returns the patterns under include and exclude of a file's servers that match no tool of theirs.
func UnmatchedTools(c *config.Config, mounts *servers.Mounts) (out []config.Problem) {
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		of := c.Servers[name]
		if len(of.Include)+len(of.Exclude) == 0 {
			continue
		}
		unmatched, names := mounts.Unmatched(name)
		known := map[string]bool{}
		for _, n := range names {
			known[sanitize.Line(n, 128)] = true
		}
		for key, patterns := range map[string][]string{"include": of.Include, "exclude": of.Exclude} {
			for _, p := range patterns {
				if slices.Contains(unmatched, p) {
					out = append(out, c.Problem("no tool of the server matches "+p, nearest(p, known), "mcp_servers", name, key))
				}
			}
		}
	}
	return out
}

// UnmatchedFaults returns what [Unmatched] and [UnmatchedTools] return as faults of a host.
func UnmatchedFaults(c *config.Config, h *host.Host, mounts *servers.Mounts) []*tool.Error {
	var out []*tool.Error
	for _, p := range slices.Concat(Unmatched(c, h.Plugins(), h.Claims()), UnmatchedTools(c, mounts)) {
		out = append(out, tool.Errorf(tool.CodeNotFound, "%s:%d: %s: %s", p.File, p.Line, p.Key, p.Message).Try(p.Hint))
	}
	return out
}
