package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Load finds the plugin binaries of directories, starts them side by side, and
// registers their tools. It returns how many tools the registry holds. Loading a
// directory again adds what is new and changes nothing else. With [WithCache], only
// plugins of which nothing is remembered are started.
//
// Names are given out in the order of the directories and, in each, of the
// files: which plugin is the first does not depend on which starts faster.
//
// # Errors
//
// One for each directory, plugin and tool that could not be used, joined, each
// an [*tool.Error] with the plugin's name. What could be used is.
func (h *Host) Load(ctx context.Context, dirs ...string) (int, error) {
	h.noteDirs(dirs)
	var faults []error
	var started []source
	_ = h.lockFaults(dirs) // each start tells; where there is none, a lock was seen
	for _, dir := range dirs {
		found, skipped, err := plugin.Discover(dir)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		h.noteSkipped(dir, skipped)
		for _, c := range found {
			s, err := h.adopt(c)
			if err != nil {
				faults = append(faults, err)
			} else if s.plugin != nil {
				started = append(started, s)
			}
		}
	}
	faults = append(faults, h.takeAll(ctx, started, h.listAll(ctx, started))...)
	return h.Len(), errors.Join(faults...)
}

// adopt makes a source of a candidate; a zero one where it is there already.
func (h *Host) adopt(c plugin.Candidate) (source, error) {
	if h.hasPath(c.Path) {
		return source{}, nil
	}
	s := h.newSource(c, h.settingsOf(c))
	return s, h.addSource(s)
}

// listing is what a plugin said of itself, now or to an earlier process.
type listing struct {
	tools    []tool.Tool
	recalled bool
	err      error
}

// listAll asks plugins side by side for their tools, a few at a time. Those that are
// remembered are not started.
func (h *Host) listAll(ctx context.Context, sources []source) []listing {
	out := make([]listing, len(sources))
	var all sync.WaitGroup
	for i, s := range sources {
		release, err := h.startSlot(ctx, s.owner)
		if err != nil {
			out[i].err = err
			continue
		}
		all.Go(func() {
			defer release()
			out[i] = h.list(ctx, s)
		})
	}
	all.Wait()
	return out
}

// list asks one plugin, in a slot that the caller has.
func (h *Host) list(ctx context.Context, s source) (out listing) {
	out.recalled = h.recall(ctx, s)
	out.tools, out.err = s.plugin.Tools(ctx)
	return out
}

func (h *Host) hasPath(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.sources, func(s source) bool { return s.path == path })
}

// noteSkipped remembers what of a directory is no plugin, as it was found last.
func (h *Host) noteSkipped(dir string, skipped []plugin.Skipped) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.skipped[dir] = skipped
}

// RestartPlugin ends a plugin's process, when its calls have ended, and forgets its
// failures. The next call starts it; one whose tools are not known, as it did not
// start or was refused, is started now and asked for them.
//
// # Errors
//
// [tool.CodeNotFound] where no plugin has that name; [tool.CodeUnavailable] where its
// file has changed inside the root, and it runs on; the context's end; those of
// [Host.Load] for a plugin that is asked for its tools.
func (h *Host) RestartPlugin(ctx context.Context, name string) error {
	h.mu.Lock()
	i := slices.IndexFunc(h.sources, func(s source) bool { return s.plugin != nil && s.owner == name })
	var s source
	if i >= 0 {
		s = h.sources[i]
	}
	h.mu.Unlock()
	if s.plugin == nil {
		return &tool.Error{
			Code: tool.CodeNotFound, Plugin: name, Stage: tool.StageStart, Message: fmt.Sprintf("there is no plugin %.64q", name),
			Hint: "see toolhost plugins for the names",
		}
	}
	if err := h.admit(plugin.Candidate{Name: s.owner, Path: s.path}, s.found)(); err != nil {
		return err // it would not start again
	}
	if err := s.plugin.Restart(ctx); err != nil {
		return err
	}
	if _, known := s.plugin.Description(); known {
		return nil
	}
	return h.update(ctx, s)
}

// Skipped are the entries of the loaded directories that are no plugins, and why,
// sorted by path.
func (h *Host) Skipped() []plugin.Skipped {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []plugin.Skipped
	for _, dir := range slices.Sorted(maps.Keys(h.skipped)) {
		out = append(out, h.skipped[dir]...)
	}
	return out
}
