package roster

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
)

// openCache returns nil if the directory cannot be used: nothing depends on it.
func openCache(dir string, log hclog.Logger) *manifest.Cache {
	const unused = "the cache is not used, so plugins are started to list their tools"
	c, err := manifest.Open(dir)
	switch {
	case err == nil:
		sandbox.Remember(dir)
	case errors.Is(err, marked.ErrUnsafe), errors.Is(err, marked.ErrForeign):
		log.Warn(unused+"; name another directory with cache_dir", "error", err)
	default:
		log.Warn(unused+": mend that, or name another directory with cache_dir (off: none)", "error", err)
	}
	return c
}

// subject returns what a plugin is remembered by.
func (s *source) subject() manifest.Subject {
	if s.server != nil {
		id := manifest.Digest(sha256.Sum256([]byte(s.server.Identity)))
		return manifest.Subject{Server: &id, Host: s.member.roster.opts.Plugin.HostVersion}
	}
	path := s.file
	if s.kept != nil {
		path = s.member.roster.binaries.Path(s.kept.SHA256)
	}
	return manifest.Subject{
		Path: path, Args: s.settings.Args, Env: s.plugin.Environment(), Config: s.settings.Config,
		Host: s.member.roster.opts.Plugin.HostVersion,
	}
}

// recall tells a plugin what is remembered of it, and reports whether anything is. What is
// remembered is judged by the pins, as if the plugin had just been started: if they refuse
// it, it is started, which tells why it may not be. The binary of a plugin that is not
// listed is not read.
func (r *Roster) recall(ctx context.Context, s *source) bool {
	pins, ok := r.judgeOf(s)
	if !ok {
		return false
	}
	about, sum, ok := r.manifests.Find(ctx, s.subject())
	if !ok || pins != nil && pins.Described(s.member.owner, sum.String(), about) != nil {
		return false
	}
	s.plugin.Recall(about)
	s.setSum(sum)
	return true
}

// judgeOf returns the pins by which what is remembered of a source is judged, nil: there are
// none; false: nothing is remembered, or it may not be used.
func (r *Roster) judgeOf(s *source) (pluginrun.Pins, bool) {
	if r.manifests == nil || s.plugin == nil {
		return nil, false
	}
	pins, err := s.pins()
	if err != nil || pins != nil && pins.Listed(s.member.owner) != nil {
		return nil, false
	}
	return pins, true
}

// rememberSaid is remember for a source that was asked just now.
func (r *Roster) rememberSaid(ctx context.Context, s *source, said listing, sound bool) {
	if s.plugin != nil && said.err == nil && !said.recalled {
		r.remember(ctx, s, sound)
	}
}

// remember stores what a plugin says of itself. A plugin with a definition that is refused
// is forgotten instead: it is started each time, so that each time the reason is told.
func (r *Roster) remember(ctx context.Context, s *source, sound bool) {
	if r.manifests == nil {
		return
	}
	about, said := s.plugin.Description()
	if !said {
		return
	}
	if !sound {
		r.manifests.Forget(s.subject())
		return
	}
	// If the binary was exchanged while it ran, what it said is stored for the new one,
	// which the host finds out about when that one runs.
	sum, err := r.manifests.Store(ctx, s.subject(), about)
	if err != nil {
		r.log.Debug("a plugin is not remembered", "plugin", s.member.owner, "error", err)
		if ctx.Err() == nil {
			r.unstored.Do(func() {
				r.log.Warn("the cache cannot be written, so plugins are started to list their tools", "error", err)
			})
		}
		return
	}
	s.setSum(sum)
}

// learned remembers another SDK of a server at once: this process may be about to end.
func (s *source) learned(sdk string) {
	r, ctx := s.member.roster, context.Background()
	if r.manifests == nil {
		return
	}
	about, _, ok := r.manifests.Find(ctx, s.subject())
	if !ok {
		return
	}
	about.SDK = sdk
	if _, err := r.manifests.Store(ctx, s.subject(), about); err != nil {
		r.log.Debug("what a server speaks is not remembered", "plugin", s.member.owner, "error", err)
	}
}
