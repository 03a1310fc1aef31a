package host

import (
	"cmp"
	"context"
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openCache is nil where the directory cannot be used: nothing depends on it.
func openCache(dir string, log hclog.Logger) *manifest.Cache {
	c, err := manifest.Open(dir)
	switch {
	case errors.Is(err, manifest.ErrUnsafe), errors.Is(err, manifest.ErrForeign):
		log.Warn("the cache is not used, so plugins are started to list their tools; name another directory with cache_dir", "error", err)
	case err != nil:
		log.Info("the cache is not used, so plugins are started to list their tools", "error", err)
	}
	return c
}

// key is what a plugin is remembered under; false: it is not remembered.
func (h *Host) key(ctx context.Context, s source) (manifest.Key, bool) {
	if h.manifests == nil {
		return manifest.Key{}, false
	}
	k, err := h.manifests.Key(ctx, manifest.Subject{
		Path: s.path, Args: s.settings.Args, Env: s.plugin.Environment(), Config: s.settings.Config, Host: Version,
	})
	if err != nil {
		h.opts.logger.Debug("a plugin is not remembered", "plugin", s.owner, "error", err)
	}
	return k, err == nil
}

// recall tells a plugin what is remembered of it, and reports whether anything is. The
// binary of one that is not to run is not read.
func (h *Host) recall(ctx context.Context, s source) bool {
	if h.manifests == nil || !h.isListed(s) {
		return false
	}
	k, ok := h.key(ctx, s)
	if !ok {
		return false
	}
	about, ok := h.manifests.Find(k)
	if ok = ok && h.mayRecall(ctx, s, about); ok {
		s.plugin.Recall(about)
	}
	return ok
}

// takeAll registers what plugins said that have nothing in the registry yet, and
// follows their changes. Names are given out in the order of the plugins.
func (h *Host) takeAll(ctx context.Context, sources []source, said []listing) []error {
	h.ruling.RLock()
	owners, entries := make([]string, len(sources)), make([][]*entry, len(sources))
	faults := make([]error, len(sources))
	for i, s := range sources {
		owners[i] = s.owner
		entries[i], faults[i] = h.entriesOf(ctx, s, said[i])
	}
	registered := sources[:0:0]
	for i, s := range sources {
		if entries[i] != nil {
			registered = append(registered, s)
		}
	}
	for i, taken := range h.registry.join(owners, entries) {
		faults[i] = errors.Join(faults[i], taken)
	}
	h.ruling.RUnlock()
	h.noteNames(registered...)
	for _, s := range sources {
		h.follow(s)
	}
	return faults
}

// entriesOf makes entries of what a plugin said. If there is nothing wrong with it,
// it is remembered: what is remembered needs not be compiled until it is called. A
// plugin of which nothing can be used is refused.
func (h *Host) entriesOf(ctx context.Context, s source, l listing) ([]*entry, error) {
	if l.err != nil {
		return nil, l.err
	}
	keeps := s.keepsSessions()
	for i, t := range l.tools {
		l.tools[i] = h.wrapped(s, t, keeps)
	}
	compile := func(owner string, t tool.Tool, budget *schema.Budget) (*entry, error) {
		e, err := h.draft(owner, t)
		if err != nil {
			return nil, err
		}
		e.ready = s.plugin.Ready
		e.limit(&s.settings)
		if l.recalled {
			return h.promise(e), nil
		}
		return h.build(e, budget)
	}
	// Compiling may take as long as a start.
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(max(s.settings.StartTimeout, 0), plugin.DefaultStartTimeout))
	defer cancel()
	entries, bad := entriesOf(ctx, s.owner, l.tools, compile)
	if entries == nil {
		s.plugin.Refuse(bad)
	} else {
		s.plugin.Refuse(nil)
	}
	if !l.recalled {
		h.remember(ctx, s, bad == nil)
	}
	entries, taken := h.free(s, entries)
	return entries, errors.Join(bad, taken)
}

// remember writes down what a plugin says of itself, or that there is nothing to go
// by: a plugin with a definition that is refused is started each time, so that each
// time the reason is told.
func (h *Host) remember(ctx context.Context, s source, sound bool) {
	// The key is made anew: if the binary was exchanged since it was looked for, what
	// it said belongs to the new one.
	k, ok := h.key(ctx, s)
	about, said := s.plugin.Description()
	if !ok || !said {
		return
	}
	if !sound {
		h.manifests.Forget(k)
		return
	}
	if err := h.manifests.Store(k, about); err != nil {
		h.opts.logger.Debug("a plugin is not remembered", "plugin", s.owner, "error", err)
	}
}

// upToDate brings the registry up to date before it passes on that a tool's
// definition has changed, so that the next call goes by the new one.
func (h *Host) upToDate(s source, run tool.Handler) tool.Handler {
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		res, err := run(ctx, call)
		if err != nil && errors.Is(err, plugin.ErrChanged) {
			if err := h.update(h.life, s); err != nil {
				h.opts.logger.Warn("tools changed, and not all could be taken", "plugin", s.owner, "error", err)
			}
		}
		return res, err
	}
}

// update makes the registry hold what a plugin says now. It is called by whoever
// learns of a change, so one waits for the other.
func (h *Host) update(ctx context.Context, s source) error {
	s.fresh.Lock()
	defer s.fresh.Unlock()
	if now, ok := h.current(s.owner); !ok || !now.is(s) { // another one has its tools now
		return nil
	}
	tools, err := s.plugin.Tools(ctx)
	if err != nil {
		return err
	}
	h.ruling.RLock()
	defer h.ruling.RUnlock()
	entries, bad := h.entriesOf(ctx, s, listing{tools: tools})
	taken := h.registry.sync(s.owner, entries)
	if entries != nil {
		h.noteNames(s)
	}
	return errors.Join(bad, taken)
}
