package roster

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/inflight"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// source is what a member's tools come from: a plugin's file as it was found, or a server that
// was mounted, with the settings that it runs by, or a provider that the embedder attached. An
// upgrade makes another.
type source struct {
	member   *member
	provider tool.Provider     // nil: the plugin is disabled
	plugin   *pluginrun.Plugin // the provider, if it is a process; else nil
	path     string            // in the plugin directory; empty: it is not a file
	server   *plugin.Server    // nil: it is not a server
	file     string            // that runs: the path, or what it links to
	kept     *known.Binary     // that runs in place of the file; nil: the file runs
	settings plugin.Settings
	key      known.Plugin                    // of its record
	found    atomic.Pointer[manifest.Stamp]  // of the file
	sum      atomic.Pointer[manifest.Digest] // of the file when it had that stamp; nil: not known
	given    atomic.Pointer[ceiling]         // what bounded the newest start; nil: there was none

	// reports says that the plugin's states are those of the member: it has no successor, and
	// is not a newer file that is still tried.
	reports atomic.Bool

	// life ends when an attached provider is detached, and end ends it; nil: it is a plugin.
	life   context.Context //nolint:containedctx // a source outlives calls
	end    context.CancelFunc
	calls  inflight.Calls         // of an attached provider: a plugin counts its own
	saving atomic.Bool            // a copy of the file is made, or was
	saved  atomic.Pointer[string] // digest of the copy; nil: there is none

	// The rest is guarded by Roster.mu.
	missed  bool              // it changed before the registry had its tools
	served  bool              // the registry has what it serves, which may be nothing
	failure *manifest.Failure // of its newest start, if it never described itself; nil: none
	wants   *plugin.WantsMore // what it declares and was not accepted; nil: nothing
}

// listing is what a source said that it serves, now or to an earlier process.
type listing struct {
	definitions  []*tool.Definition
	run, preview tool.Handler
	checked      bool // see [checked.Lister]
	recalled     bool
	err          error
}

// newSource makes a source of a candidate. Nothing is started.
func (m *member) newSource(c plugin.Candidate, settings plugin.Settings) *source {
	s := &source{member: m, path: c.Path, file: c.Binary(), settings: settings, key: known.At(c.Path, m.owner)}
	s.setStamp(manifest.StampOf(s.file))
	if settings.Enabled {
		s.plugin = pluginrun.New(c, s.config())
		s.provider = s.plugin
	}
	return s
}

// newServer makes a source of a server. Nothing is started.
func (m *member) newServer(server plugin.Server) *source {
	s := &source{member: m, server: &server, settings: server.Settings, key: known.Server(server.Identity, m.owner)}
	s.setStamp(manifest.Stamp{})
	if s.settings.Enabled {
		s.plugin = pluginrun.NewServer(server, s.config())
		s.provider = s.plugin
	}
	return s
}

// isAttached reports whether the source is a provider that was attached: neither a plugin's
// file nor a server.
func (s *source) isAttached() bool { return s.path == "" && s.server == nil }

// shownPath is what an operator is shown of where the source comes from.
func (s *source) shownPath() string {
	if s.server != nil {
		return s.server.Path
	}
	return s.path
}

// config returns how the plugin is run.
func (s *source) config() pluginrun.Config {
	r := s.member.roster
	c := r.opts.Plugin
	c.Settings = s.settings
	c.Sockets = func() (string, error) { return r.sockets.path(s.member.owner) }
	c.Pins = s.pins
	c.Admit, c.Changed, c.Offers, c.Learned = s.mayStart, s.changed, s.offered, s.learned
	c.Journal, c.Usage = s.member.journal, &s.member.usage
	c.Replaces = s.member.now().source != nil
	c.Accepted, c.CacheDir = s.accepted, r.cacheOf(s.member.owner, s.shownPath())
	c.OnState = func(now plugin.Status) {
		if s.reports.Load() {
			r.opts.Plugin.OnState(now)
		}
	}
	c.Kept, c.Started, c.Enforced = s.keptCopy, s.started, s.enforced
	if s.isJudged() {
		c.Content = s.judge
	}
	return c
}

// pins returns what may run of where the source comes from.
func (s *source) pins() (pluginrun.Pins, error) {
	if s.server != nil {
		return s.member.roster.opts.ServerPins()
	}
	return s.member.roster.opts.Pins(s.dir())
}

// list asks the source for its tools.
func (s *source) list(ctx context.Context) (out listing) {
	if s.plugin != nil {
		var tools []tool.Tool
		if tools, out.err = s.plugin.Tools(ctx); len(tools) > 0 {
			out.run, out.preview = tools[0].Handler, tools[0].Preview // as those of all its tools
		}
		for i := range tools {
			out.definitions = append(out.definitions, &tools[i].Definition)
		}
		return out
	}
	out.run = s.calls.Count(s.provider.Execute, s.isClosed)
	out.err = s.contain(func() (err error) {
		out.preview = s.calls.Count(previewOf(s.provider), s.isClosed)
		if p, ok := s.provider.(checked.Lister); ok {
			out.checked = true
			all, err := p.ListChecked(ctx)
			out.definitions = make([]*tool.Definition, len(all))
			for i, d := range all {
				out.definitions[i] = d.Get()
			}
			return err
		}
		defs, err := s.provider.List(ctx)
		for i := range defs {
			out.definitions = append(out.definitions, &defs[i])
		}
		return err
	})
	return out
}

func previewOf(p tool.Provider) tool.Handler {
	if previewer, ok := p.(tool.Previewer); ok {
		return previewer.Preview
	}
	return nil
}

// describe is what the registry is told of a listing.
func (s *source) describe(said listing) Listing {
	out := Listing{
		Owner: s.member.owner, Definitions: said.definitions, Handler: said.run, Preview: said.preview,
		Checked: said.checked, Recalled: said.recalled,
	}
	if s.plugin == nil {
		out.Source = s
		_, out.Functions = s.provider.(*tool.Set)
		if _, ok := s.provider.(tool.SessionEnder); ok {
			out.Keeper = (*attachedKeeper)(s)
		}
		return out
	}
	out.Plugin, out.Settings = s.plugin, &s.settings
	if about, ok := s.plugin.Description(); ok && slices.Contains(about.Features, wire.FeatureSessions) {
		out.Keeper = s.plugin
	}
	out.Given = func(key string) string { return s.member.roster.book.Of(s.key).Levels[key] }
	if s.server != nil {
		out.Own, _ = s.server.Connector.(pluginrun.Own)
	}
	out.Changed = func() { s.refreshOrLog() }
	return out
}

// attachedKeeper is an attached provider that keeps state for sessions.
type attachedKeeper source

// Name implements [Keeper].
func (k *attachedKeeper) Name() string { return k.member.owner }

// Hold implements [Keeper]. An attached provider is not stopped for idleness.
func (k *attachedKeeper) Hold() (release func()) { return func() {} }

// EndSession implements [Keeper]. A provider that was detached is not told.
func (k *attachedKeeper) EndSession(session string) {
	if k.life.Err() != nil {
		return
	}
	_ = (*source)(k).contain(func() error { // which logs a panic
		k.provider.(tool.SessionEnder).EndSession(session)
		return nil
	})
}

// isDisabled reports whether the operator does not want the plugin.
func (s *source) isDisabled() bool { return s.provider == nil }

// isServed reports whether the registry has what the source serves.
func (s *source) isServed() bool {
	s.member.roster.mu.Lock()
	defer s.member.roster.mu.Unlock()
	return s.served
}

// isUnusable reports whether it is a plugin that could not be used, or not yet.
func (s *source) isUnusable() bool {
	return s.plugin != nil && (!s.isServed() || s.plugin.Status().State == plugin.Refused)
}

// isAs reports whether the source is of that file, as it is now, and of those settings.
func (s *source) isAs(c plugin.Candidate, found manifest.Stamp, settings plugin.Settings) bool {
	return s.path == c.Path && s.file == c.Binary() && s.stamp() == found && reflect.DeepEqual(s.settings, settings)
}

// mayRun reports whether the pins, which may have changed, would let the source start as it runs. Without the
// cache it is not known of what bytes it is: then the next start tells.
func (s *source) mayRun() bool {
	sum := s.sum.Load()
	if s.plugin == nil || sum == nil {
		return true
	}
	pins, err := s.pins()
	about, said := s.plugin.Description()
	return err == nil && (pins == nil || !said || pins.Listed(s.member.owner) == nil &&
		pins.Described(s.member.owner, sum.String(), about) == nil)
}

func (s *source) stamp() manifest.Stamp { return *s.found.Load() }

func (s *source) setStamp(found manifest.Stamp) { s.found.Store(&found) }

// setSum remembers the first digest of the file that is told, if the file is still the one that was found.
func (s *source) setSum(sum manifest.Digest) {
	if s.kept == nil && manifest.StampOf(s.file) == s.stamp() {
		s.sum.CompareAndSwap(nil, &sum)
	}
}

// digest returns the digest of the file; empty: it is not known.
func (s *source) digest() string {
	if sum := s.sum.Load(); sum != nil {
		return sum.String()
	}
	return ""
}

// takeSame reports whether a file that differs from the source's in its stamp alone has the
// same bytes, as after touch, and if so takes it for the source's own: nothing has to be
// started again.
func (s *source) takeSame(ctx context.Context, c plugin.Candidate, settings plugin.Settings) bool {
	sum, found := s.sum.Load(), manifest.StampOf(c.Binary())
	if sum == nil || s.isUnusable() || !s.isAs(c, s.stamp(), settings) {
		return false
	}
	now, err := manifest.DigestOf(ctx, s.file)
	if err != nil || now != *sum || manifest.StampOf(s.file) != found {
		return false
	}
	s.setStamp(found)
	return true
}

// dir returns the directory of the plugin's file.
func (s *source) dir() string { return filepath.Dir(s.path) }

// isClosed is the error of a call that comes when an attached provider is closed.
func (s *source) isClosed(name string) error {
	return tool.Errorf(tool.CodeUnavailable, "%s is closed, so tool %s cannot run", s.member.owner, name).
		Of(name, s.member.owner).At(callstage.Execute).NeverSent().Fix("attach it again")
}

// drainTimeout bounds how long the calls of an attached provider may take to end before it is closed, as
// that of a plugin.
const drainTimeout = 5 * time.Second

// close closes the provider. Calls of an attached one may end first.
func (s *source) close(ctx context.Context) error {
	if s.isDisabled() {
		return nil
	}
	if s.plugin == nil {
		drain, cancel := context.WithTimeout(ctx, drainTimeout)
		defer cancel()
		s.calls.Refuse()
		s.calls.Wait(drain)
	}
	return s.contain(func() error { return s.provider.Close(ctx) })
}

// contain runs a function of the provider, whose panic becomes an error.
func (s *source) contain(f func() error) (err error) {
	owner := s.member.owner
	defer func() {
		if v := recover(); v != nil {
			p := chain.Recovered("the provider of plugin "+owner, v)
			s.member.roster.log.Error(p.Where+" panicked", "panic", p.Value, "stack", p.Stack)
			err = &tool.Error{
				Code: tool.CodeUnavailable, Plugin: owner, Message: p.Error(),
				OperatorHint: "report this to its author", Detail: p.Stack, Err: p,
			}
		}
	}()
	return f()
}
