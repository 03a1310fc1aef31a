package roster

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
)

// memory is what plugins said of themselves, or how they failed, to this process and to earlier ones.
type memory struct {
	*manifest.Cache // nil: nothing is remembered
	log             hclog.Logger
	unstored        sync.Once // the cache could not be written, which is told once
}

// open leaves the cache out if the directory cannot be used: nothing depends on it.
func (m *memory) open(dir string) {
	const unused = "the cache is not used, so plugins are started to list their tools"
	var err error
	m.Cache, err = manifest.Open(dir)
	switch {
	case err == nil:
		sandbox.Remember(dir)
	case errors.Is(err, marked.ErrUnsafe), errors.Is(err, marked.ErrForeign):
		m.log.Warn(unused+"; name another directory with cache_dir", "error", err)
	default:
		m.log.Warn(unused+": mend that, or name another directory with cache_dir (off: none)", "error", err)
	}
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
func (m *memory) recall(ctx context.Context, s *source) bool {
	pins, ok := m.judgeOf(s)
	if !ok {
		return false
	}
	about, sum, ok := m.Find(ctx, s.subject())
	if !ok || pins != nil && pins.Described(s.member.owner, sum.String(), about) != nil {
		return false
	}
	s.plugin.Recall(about)
	s.setSum(sum)
	return true
}

// judgeOf returns the pins by which what is remembered of a source is judged, nil: there are
// none; false: nothing is remembered, or it may not be used.
func (m *memory) judgeOf(s *source) (pluginrun.Pins, bool) {
	if m.Cache == nil || s.plugin == nil {
		return nil, false
	}
	pins, err := s.pins()
	if err != nil || pins != nil && pins.Listed(s.member.owner) != nil {
		return nil, false
	}
	return pins, true
}

// rememberSaid is remember for a source that was asked just now.
func (m *memory) rememberSaid(ctx context.Context, s *source, said listing, sound bool) {
	if s.plugin != nil && said.err == nil && !said.recalled {
		m.remember(ctx, s, sound)
	}
}

// remember stores what a plugin says of itself. A plugin with a definition that is refused
// is forgotten instead: it is started each time, so that each time the reason is told.
func (m *memory) remember(ctx context.Context, s *source, sound bool) {
	if m.Cache == nil {
		return
	}
	about, said := s.plugin.Description()
	if !said {
		return
	}
	if !sound {
		m.Forget(s.subject())
		return
	}
	// If the binary was exchanged while it ran, what it said is stored for the new one,
	// which the host finds out about when that one runs.
	sum, err := m.Store(ctx, s.subject(), about)
	if err != nil {
		m.log.Debug("a plugin is not remembered", "plugin", s.member.owner, "error", err)
		if ctx.Err() == nil {
			m.unstored.Do(func() {
				m.log.Warn("the cache cannot be written, so plugins are started to list their tools", "error", err)
			})
		}
		return
	}
	s.setSum(sum)
}

// learned remembers another SDK of a server at once: this process may be about to end.
func (s *source) learned(sdk string) {
	m, ctx := &s.member.roster.memory, context.Background()
	if m.Cache == nil {
		return
	}
	about, _, ok := m.Find(ctx, s.subject())
	if !ok {
		return
	}
	about.SDK = sdk
	if _, err := m.Store(ctx, s.subject(), about); err != nil {
		m.log.Debug("what a server speaks is not remembered", "plugin", s.member.owner, "error", err)
	}
}

// recallFailure returns how the newest start failed in an earlier process; nil: it did not.
func (m *memory) recallFailure(ctx context.Context, s *source) *manifest.Failure {
	judge, ok := m.judgeOf(s)
	if !ok {
		return nil
	}
	f, sum, ok := m.FindFailure(ctx, s.subject())
	if !ok || f.Limit != s.settings.StartTimeout || f.Revision != s.revision() {
		return nil
	}
	if judge != nil && judge.Binary(s.member.owner, sum.String()) != nil {
		return nil
	}
	s.setFailure(&f)
	return &f
}

// fileDigest returns the SHA-256 of a plugin's file.
func (m *memory) fileDigest(ctx context.Context, file string) (manifest.Digest, error) {
	if m.Cache != nil {
		return m.Digest(ctx, file)
	}
	return manifest.DigestOf(ctx, file)
}
