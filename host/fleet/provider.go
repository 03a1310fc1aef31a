package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// List implements [tool.Provider].
func (s *mounts) List(ctx context.Context) ([]tool.Definition, error) {
	all, err := s.ListChecked(ctx)
	out := make([]tool.Definition, len(all))
	for i, d := range all {
		out[i] = d.Get().Clone()
	}
	return out, err
}

// ListChecked is List for the registry of this host.
func (s *mounts) ListChecked(context.Context) ([]*checked.Definition, error) {
	s.fitAll()
	s.mu.Lock()
	all := make([]*checked.Definition, 0, len(s.tools))
	for _, t := range s.tools {
		if t.listed() != "" {
			all = append(all, t.def)
		}
	}
	s.mu.Unlock()
	shadowed := map[string]bool{}
	all = slices.DeleteFunc(all, func(d *checked.Definition) bool {
		name := d.Get().Name
		if owner, there := s.host.OwnerOf(name); !there || owner == Owner {
			return false
		}
		shadowed[name] = true // the host's own tools keep their names
		return true
	})
	slices.SortFunc(all, func(a, b *checked.Definition) int { return strings.Compare(a.Get().Name, b.Get().Name) })
	s.mu.Lock()
	s.shadowed = shadowed
	s.mu.Unlock()
	return all, nil
}

// unshadow lists the tools again if a tool of the host that had the name of one is gone.
func (s *mounts) unshadow() {
	s.mu.Lock()
	shadowed := s.shadowed
	s.mu.Unlock()
	for name := range shadowed {
		if _, there := s.host.OwnerOf(name); !there {
			s.mu.Lock()
			s.unnotified = true
			s.notifySoon()
			s.mu.Unlock()
			return
		}
	}
}

// notifySoon tells the registry if its tools have changed, once for all changes of a moment. The
// lock is held.
func (s *mounts) notifySoon() {
	if s.telling || s.closed {
		return
	}
	s.telling = true
	time.AfterFunc(gatherTime, func() {
		s.mu.Lock()
		s.telling = false // changes from here on are told again
		s.mu.Unlock()
		s.fitAll()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unnotified && !s.closed {
			s.unnotified = false
			s.changes.send()
		}
	})
}

// toBeListed says that the registry is about to list the tools.
func (s *mounts) toBeListed() {
	s.fitAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unnotified = false
	select {
	case <-s.changes:
	default:
	}
}

// close ends the changes.
func (s *mounts) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.changes)
}

// Changes implements [tool.Notifier].
func (s *mounts) Changes() <-chan struct{} { return s.changes }

// CountTools returns how many of the mounted tools are used.
func (s *mounts) CountTools() int {
	s.fitAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for name, t := range s.tools {
		if t.listed() != "" && !s.shadowed[name] {
			n++
		}
	}
	return n
}

// Tools returns the mounted tools, sorted by name, and those that could be.
func (s *mounts) Tools() []ToolStatus {
	s.fitAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]ToolStatus, 0, len(s.tools))
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		status := ToolStatus{Name: name}
		for i, v := range s.tools[name].versions {
			now := VersionStatus{
				Digest: v.digest, Plugin: v.offers[0].Plugin, Version: v.newest, Reason: v.reason, Used: i == 0 && v.reason == "",
			}
			for _, o := range v.offers {
				now.Hosts = append(now.Hosts, o.member.host)
			}
			if s.shadowed[name] {
				now.Used, now.Reason = false, "this host has a tool of that name"
			}
			status.Versions = append(status.Versions, now)
		}
		if p := s.pools[name]; p != nil {
			status.Waiting, status.Oldest = p.waits(time.Now())
		}
		out = append(out, status)
	}
	return out
}
