package roster

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// openCache returns nil if the directory cannot be used: nothing depends on it.
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

// key returns what a plugin is remembered under; false: it is not remembered.
func (r *Roster) key(ctx context.Context, s *source) (manifest.Key, bool) {
	if r.manifests == nil {
		return manifest.Key{}, false
	}
	k, err := r.manifests.Key(ctx, manifest.Subject{
		Path: s.path, Args: s.settings.Args, Env: s.plugin.Environment(), Config: s.settings.Config, Host: r.opts.Plugin.HostVersion,
	})
	if err != nil {
		r.log.Debug("a plugin is not remembered", "plugin", s.member.owner, "error", err)
	}
	return k, err == nil
}

// recall tells a plugin what is remembered of it, and reports whether anything is. The
// binary of a plugin that must not run is not read.
func (r *Roster) recall(ctx context.Context, s *source) bool {
	if r.manifests == nil || !r.isListed(s) {
		return false
	}
	k, ok := r.key(ctx, s)
	if !ok {
		return false
	}
	about, ok := r.manifests.Find(k)
	if ok = ok && r.mayRecall(ctx, s, about); ok {
		s.plugin.Recall(about)
	}
	return ok
}

// mayRecall judges what is remembered of a plugin by the pins, as if it had just been
// started. If they say no, it is started, which tells why it may not be.
func (r *Roster) mayRecall(ctx context.Context, s *source, about wire.Description) bool {
	pins, err := r.opts.Pins(s.dir())
	if err != nil || pins == nil {
		return err == nil
	}
	sum, err := r.manifests.Digest(ctx, s.path)
	if err != nil {
		return false
	}
	return pins.Described(s.member.owner, hex.EncodeToString(sum[:]), about) == nil
}

// isListed judges a plugin by its name, before its binary is read.
func (r *Roster) isListed(s *source) bool {
	pins, err := r.opts.Pins(s.dir())
	return err == nil && (pins == nil || pins.Listed(s.member.owner) == nil)
}

// remember stores what a plugin says of itself. A plugin with a definition that is refused
// is forgotten instead: it is started each time, so that each time the reason is told.
func (r *Roster) remember(ctx context.Context, s *source, sound bool) {
	// The key is made again: if the binary was exchanged since it was looked for, what
	// it said belongs to the new one.
	k, ok := r.key(ctx, s)
	about, said := s.plugin.Description()
	if !ok || !said {
		return
	}
	if !sound {
		r.manifests.Forget(k)
		return
	}
	if err := r.manifests.Store(k, about); err != nil {
		r.log.Debug("a plugin is not remembered", "plugin", s.member.owner, "error", err)
	}
}
