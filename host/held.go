package host

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// WithHolding says whether [Host.Follow] holds what is new or has changed in plugin
// directories inside the root, where the tools of this host may have written it, until
// [Host.Sync] or [Host.SyncPlugin]. A plugin whose file was changed there is not
// started from it either. Default: true.
func WithHolding(holds bool) Option { return func(o *options) { o.unheld = !holds } }

// heldChange is what Follow found inside the root and does not run.
type heldChange struct {
	candidate plugin.Candidate // its Path is empty: the file is gone
	stamp     manifest.Stamp
	path      string
}

// reason says what is held, and what to do about it.
func (c heldChange) reason(known bool) string {
	what := "its file is new inside the workspace"
	switch {
	case c.candidate.Path == "":
		what = "its file was removed inside the workspace"
	case known:
		what = "its file has changed inside the workspace"
	}
	return fmt.Sprintf("%s, and waits for the operator's word: toolhost plugins enable %s, or toolhost reload", what, c.candidate.Name)
}

// inside reports whether a plugin's file, or its directory, lies in the root.
func (h *Host) inside(path string) bool {
	if h.opts.unheld || path == "" {
		return false
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		if at, _, err := protect.Resolve(p); err != nil || protect.Within(h.place, at) {
			return true
		}
	}
	return false
}

// hold notes a step that Follow does not take, and reports whether it has to be held:
// it would run, or withdraw, what has changed inside the root.
func (h *Host) hold(s step) bool {
	now, known := h.current(s.owner)
	path := s.candidate.Path
	if path == "" {
		path = now.path
	}
	if !h.inside(path) {
		return false
	}
	change := heldChange{s.candidate, manifest.StampOf(path), path}
	change.candidate.Name = s.owner
	if known && now.path == s.candidate.Path && now.found == change.stamp {
		return false // only its settings are others
	}
	h.mu.Lock()
	told := h.held[s.owner] == change
	h.held[s.owner] = change
	h.mu.Unlock()
	if !told {
		h.opts.logger.Warn("a plugin directory inside the workspace has changed", "plugin", s.owner, "file", path, "held", change.reason(known))
	}
	return true
}

// release forgets what is held of a plugin.
func (h *Host) release(owner string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, owner)
}

// releaseOthers forgets what is held of plugins that nothing is to be done for: their
// files are again as they were.
func (h *Host) releaseOthers(steps []step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.held, func(owner string, _ heldChange) bool {
		return !slices.ContainsFunc(steps, func(s step) bool { return s.owner == owner })
	})
}

// admit is asked before a plugin's start: inside the root, a file runs only as it was
// when the operator had it run.
func (h *Host) admit(c plugin.Candidate, found manifest.Stamp) func() error {
	return func() error {
		if !h.inside(c.Path) || manifest.StampOf(c.Path) == found {
			return nil
		}
		return &tool.Error{
			Code: tool.CodeUnavailable, Plugin: c.Name, Stage: tool.StageStart, Unsent: true,
			Message: fmt.Sprintf("plugin %s is not started: %s has changed inside the workspace", c.Name, c.Path),
			Hint:    fmt.Sprintf("if you changed it: toolhost plugins enable %s, or toolhost reload", c.Name),
		}
	}
}
