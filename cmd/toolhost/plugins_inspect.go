package main

import (
	"context"
	"path/filepath"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// inspection is what a lock compares: the plugins of the directories.
type inspection struct {
	recorder host.Recorder
	plugins  []plugin.Status
	// unread: a directory could not be read, so its content is not known.
	unread bool
	// skipped are the names of plugins whose files exist and cannot be run.
	skipped map[string]bool
}

// inspect starts the plugins that the options let run, from copies that other users cannot
// write to, and asks for their descriptions. What they get meanwhile is bounded by the needs that
// pinned has, nil: by what was accepted otherwise.
func inspect(ctx context.Context, s *session.Session, pinned *lockfile.Lock, needs session.Needs) (*inspection, error) {
	out := &inspection{skipped: map[string]bool{}}
	out.recorder.Pinned = pinned
	needs.Options, needs.Uncached = append(needs.Options, host.WithRecorder(&out.recorder)), true
	l, err := s.OpenLocal(ctx, needs)
	if err != nil {
		return nil, err
	}
	for _, fault := range l.Faults {
		s.Warn(fault)
		out.unread = out.unread || fault.Plugin == ""
	}
	for _, f := range l.State().Skipped {
		out.skipped[pluginrun.NameOf(filepath.Base(f.Path))] = true
	}
	out.plugins = l.Host.Plugins()
	return out, l.Close(ctx)
}

// pinned returns the lock of the plugins. A plugin that did not start, was not to be started, or
// could not be examined keeps its previous pin; failed are those of them that are not disabled.
func (i *inspection) pinned(before *lockfile.Lock) (now *lockfile.Lock, failed []unpinned) {
	now = i.recorder.Lock()
	if before == nil {
		before = &lockfile.Lock{}
	}
	keep := func(name string) unpinned {
		e, ok := before.Plugins[name]
		if ok {
			now.Plugins[name] = e
		}
		return unpinned{name, ok}
	}
	found := map[string]bool{}
	for _, s := range i.plugins {
		found[s.Name] = true
		if _, described := now.Plugins[s.Name]; described && s.State != plugin.Refused {
			continue
		}
		delete(now.Plugins, s.Name)
		if kept := keep(s.Name); s.State != plugin.Disabled {
			failed = append(failed, kept)
		}
	}
	for _, name := range before.Names() {
		if !found[name] && (i.unread || i.skipped[name]) {
			failed = append(failed, keep(name))
		}
	}
	now.KeepPlatforms(before)
	return now, failed
}

// described returns the plugins of directories that a lock pins as they are.
func (i *inspection) described(now *lockfile.Lock) (out []plugin.Status) {
	examined := i.recorder.Lock().Plugins
	for _, s := range i.plugins {
		_, ok := examined[s.Name]
		if _, pinned := now.Plugins[s.Name]; ok && pinned && s.Kind == "" && s.State != plugin.Refused && s.State != plugin.Disabled {
			out = append(out, s)
		}
	}
	return out
}

// wanting returns those of them that want more than was accepted of their needs.
func (i *inspection) wanting(now *lockfile.Lock) (out []needy) {
	for _, s := range i.described(now) {
		if s.WantsMore != nil {
			out = append(out, needy{s.Name, s.WantsMore.Changes})
		}
	}
	return out
}

// found returns what is in the directories, started or not. A plugin that the operator has
// disabled does not run, so it is as pinned if it is pinned.
func (i *inspection) found(pinned *lockfile.Lock) *lockfile.Lock {
	out := &lockfile.Lock{Plugins: i.recorder.Found()}
	if out.Plugins == nil {
		out.Plugins = map[string]lockfile.Entry{}
	}
	for _, s := range i.plugins {
		_, examined := out.Plugins[s.Name]
		e, isPinned := pinned.Plugins[s.Name]
		switch {
		case examined:
		case s.State == plugin.Disabled && isPinned:
			out.Plugins[s.Name] = e
		case s.State != plugin.Disabled || s.Reason != "": // refused, or held as new
			out.Plugins[s.Name] = lockfile.Entry{}
		}
	}
	return out
}
