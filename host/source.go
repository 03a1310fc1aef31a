package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// source is an attached provider.
type source struct {
	owner    string
	provider tool.Provider
	plugin   *plugin.Plugin // nil where it is no process
	path     string
	found    manifest.Stamp  // of the file, when it was found
	settings plugin.Settings // by which it runs
	fresh    *sync.Mutex     // held while the registry is brought up to date with the plugin
	changes  *follower       // of the plugin
	failed   *upgradeFault   // nil: no newer one was tried in vain
}

// disabled is the provider of a plugin that the operator does not want: none at all.
type disabled struct{}

func (disabled) List(context.Context) ([]tool.Definition, error) { return nil, nil }

func (disabled) Execute(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{}, unknownError(call.Name, "its plugin is disabled")
}

func (disabled) Close(context.Context) error { return nil }

// newSource makes a source of a candidate. Nothing is started.
func (h *Host) newSource(c plugin.Candidate, settings plugin.Settings) source {
	s := source{owner: c.Name, path: c.Path, found: manifest.StampOf(c.Path), settings: settings, fresh: new(sync.Mutex)}
	if !settings.Enabled {
		s.provider = disabled{}
		return s
	}
	s.changes = new(follower)
	cfg := h.config(c, settings, s.changes.tell)
	cfg.Admit = h.admit(c, s.found)
	s.plugin = plugin.New(c, cfg)
	s.provider = s.plugin
	return s
}

// current is the source of an owner; false: there is none.
func (h *Host) current(owner string) (source, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.sources, func(s source) bool { return s.owner == owner })
	if i < 0 {
		return source{}, false
	}
	return h.sources[i], true
}

// is reports whether two sources are one and the same.
func (s source) is(other source) bool { return s.owner == other.owner && s.plugin == other.plugin }

// isRefused reports whether it is a plugin that could not be used.
func (s source) isRefused() bool { return s.plugin != nil && s.plugin.Status().State == plugin.Refused }

// status is what an operator sees of the source; false: it is no plugin.
func (s source) status() (plugin.Status, bool) {
	switch {
	case s.path == "":
		return plugin.Status{}, false
	case s.plugin == nil:
		return plugin.Status{Name: s.owner, Path: s.path, State: plugin.Disabled, Reason: s.settings.Reason}, true
	}
	out := s.plugin.Status()
	if s.failed != nil {
		out.Upgrade = s.failed.reason
	}
	return out, true
}

// Plugins tells what each plugin is doing, sorted by name.
func (h *Host) Plugins() []plugin.Status {
	h.mu.Lock()
	sources, held := slices.Clone(h.sources), maps.Clone(h.held)
	h.mu.Unlock()
	var out []plugin.Status
	for _, s := range sources {
		if status, ok := s.status(); ok {
			if change, there := held[s.owner]; there {
				status.Held = change.reason(true)
				delete(held, s.owner)
			}
			out = append(out, status)
		}
	}
	for owner, change := range held {
		reason := change.reason(false)
		out = append(out, plugin.Status{Name: owner, Path: change.path, State: plugin.Refused, Reason: reason, Held: reason})
	}
	slices.SortFunc(out, func(a, b plugin.Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// wrapped is the tool of a plugin's process as the registry has it.
func (h *Host) wrapped(s source, t tool.Tool, keepsSessions bool) tool.Tool {
	t.Handler = h.upToDate(s, t.Handler)
	if keepsSessions {
		t.Handler = holding(s.plugin, t.Handler)
	}
	if !s.settings.Previews {
		t.Preview = nil
	}
	return t
}

// keepsSessions reports whether a plugin says that it keeps state for sessions.
func (s source) keepsSessions() bool {
	about, ok := s.plugin.Description()
	return ok && slices.Contains(about.Features, wire.FeatureSessions)
}
