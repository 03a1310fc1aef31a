package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Sync makes the host's plugins those that are in the directories now: new ones are
// loaded, those whose file is gone are withdrawn, and those whose file or settings are
// others are upgraded with no call lost. A directory that cannot be read changes
// nothing. What was tried before in vain is tried again. It returns when all that is
// done. A few plugins are started at a time.
//
// # Errors
//
// Those of [Host.Load], and what is wrong with locks ([WithLocks]). A plugin that cannot be upgraded runs on as it was.
func (h *Host) Sync(ctx context.Context, dirs ...string) error {
	steps, faults := h.plan(dirs, true)
	return h.takeSteps(ctx, steps, append(faults, h.lockFaults(dirs)...))
}

// Refresh does what [Host.Sync] does, but without an operator's word: what is new or
// has changed inside the root is held, as [Host.Follow] holds it, and what was tried in
// vain is not tried again.
//
// # Errors
//
// Those of [Host.Sync].
func (h *Host) Refresh(ctx context.Context, dirs ...string) error {
	steps, faults := h.plan(dirs, false)
	for i := range steps {
		steps[i].unasked = true
	}
	return h.takeSteps(ctx, steps, faults)
}

// SyncPlugin does what [Host.Sync] does for one plugin, by its name.
//
// # Errors
//
// Those of [Host.Load]; nil where nothing is to be done for the plugin.
func (h *Host) SyncPlugin(ctx context.Context, name string, dirs ...string) error {
	steps, faults := h.plan(dirs, true)
	for _, s := range steps {
		if s.owner == name {
			return h.take(ctx, s)
		}
	}
	return errors.Join(faults...)
}

// takeSteps does steps side by side, and joins what went wrong.
func (h *Host) takeSteps(ctx context.Context, steps []step, faults []error) error {
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, s := range steps {
		all.Go(func() { errs[i] = h.take(ctx, s) })
	}
	all.Wait()
	return errors.Join(append(faults, errs...)...)
}

// step is what is to be done for one plugin's name.
type step struct {
	owner     string
	candidate plugin.Candidate // zero: the file is gone
	again     bool             // it is tried even if it is what was refused before
	unasked   bool             // no operator asked for it; see [WithHolding]
}

// plan finds what differs between the directories and the host. What was tried in vain
// is tried again only where that is asked for, or where it is another now.
func (h *Host) plan(dirs []string, again bool) (steps []step, faults []error) {
	h.noteDirs(dirs)
	wanted := map[string]plugin.Candidate{}
	unreadable := map[string]bool{}
	var order []string
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		found, skipped, err := plugin.Discover(abs)
		if err != nil {
			unreadable[abs] = true
			faults = append(faults, err)
			continue
		}
		h.noteSkipped(abs, skipped)
		for _, c := range found {
			if first, there := wanted[c.Name]; there {
				faults = append(faults, sameName(c.Name, first.Path))
				continue
			}
			wanted[c.Name] = c
			order = append(order, c.Name)
		}
	}
	h.mu.Lock()
	sources := slices.Clone(h.sources)
	h.mu.Unlock()
	for _, s := range sources {
		dir := filepath.Dir(s.path)
		if _, there := wanted[s.owner]; s.path != "" && !there && !unreadable[dir] && holdsDir(dirs, dir) {
			steps = append(steps, step{owner: s.owner})
		}
	}
	for _, name := range order {
		if h.differs(wanted[name], again) {
			steps = append(steps, step{owner: name, candidate: wanted[name], again: again})
		}
	}
	return steps, faults
}

func holdsDir(dirs []string, dir string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		abs, err := filepath.Abs(d)
		return err == nil && abs == dir
	})
}

// differs reports whether a candidate is another than what the host has under its
// name, and is to be tried.
func (h *Host) differs(c plugin.Candidate, again bool) bool {
	s, there := h.current(c.Name)
	if !there {
		return true
	}
	found, settings := manifest.StampOf(c.Path), h.settingsOf(c)
	if s.path == c.Path && s.found == found && s.settings.Equal(settings) {
		return again && s.isRefused()
	}
	return again || s.failed == nil || s.failed.found != found || !s.failed.settings.Equal(settings)
}

// take does one step, one at a time for each plugin, and a few at a time where something
// is to be started. What it finds has the last word: between plan and take, somebody else
// may have done it.
func (h *Host) take(ctx context.Context, s step) error {
	if s.candidate.Path != "" {
		release, err := h.startSlot(ctx, s.owner)
		if err != nil {
			return err
		}
		defer release()
	}
	turn, _ := h.turns.LoadOrStore(s.owner, new(sync.Mutex))
	turn.(*sync.Mutex).Lock()
	defer turn.(*sync.Mutex).Unlock()
	if s.unasked && h.hold(s) {
		return nil
	}
	h.release(s.owner)
	now, there := h.current(s.owner)
	switch {
	case s.candidate.Path == "":
		if there {
			h.withdraw(now)
		}
		return nil
	case !there:
		added, err := h.adopt(s.candidate)
		if err != nil {
			return err
		}
		if added.plugin == nil {
			return nil
		}
		return errors.Join(h.takeAll(ctx, []source{added}, []listing{h.list(ctx, added)})...)
	case now.path == "": // a provider that somebody attached has the name
		return sameName(s.owner, "")
	}
	settings := h.settingsOf(s.candidate)
	if now.path == s.candidate.Path && now.found == manifest.StampOf(now.path) && now.settings.Equal(settings) {
		if s.again && now.isRefused() {
			return h.RestartPlugin(ctx, s.owner)
		}
		return nil
	}
	return h.upgrade(ctx, now, s.candidate, settings)
}

func sameName(owner, first string) error {
	where := "another provider"
	if first != "" {
		where = first
	}
	return &tool.Error{
		Code: tool.CodeAlreadyExists, Plugin: owner, Stage: tool.StageRegister,
		Message: fmt.Sprintf("plugin %s is loaded already, from %s", owner, where), Hint: "rename one of the two; the first stays",
	}
}
