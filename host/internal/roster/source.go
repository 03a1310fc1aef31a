package roster

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
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
	attached *attached         // nil: it is a plugin
	plugin   *pluginrun.Plugin // nil: it is attached, or the plugin is disabled
	server   *plugin.Server    // nil: it is not a server
	sourceFile
	settings plugin.Settings
	key      known.Plugin            // of its record
	given    atomic.Pointer[ceiling] // what bounded the newest start; nil: there was none

	// reports says that the plugin's states are those of the member: it has no successor, and
	// is not a newer file that is still tried.
	reports atomic.Bool

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
	s := &source{member: m, settings: settings, key: known.At(c.Path, m.owner)}
	s.path, s.file = c.Path, c.Binary()
	s.setStamp(manifest.StampOf(s.file))
	if settings.Enabled {
		s.plugin = pluginrun.New(c, s.config())
	}
	return s
}

// newServer makes a source of a server. Nothing is started.
func (m *member) newServer(server plugin.Server) *source {
	s := &source{member: m, server: &server, settings: server.Settings, key: known.Server(server.Identity, m.owner)}
	s.setStamp(manifest.Stamp{})
	if s.settings.Enabled {
		s.plugin = pluginrun.NewServer(server, s.config())
	}
	return s
}

// rolledBack makes a source of a kept binary in place of a file, of which it has the stamp and
// digest: as long as the file is the same, nothing differs.
func (m *member) rolledBack(
	c plugin.Candidate, settings plugin.Settings, b known.Binary, found manifest.Stamp, sum manifest.Digest,
) *source {
	s := m.keptSource(c, settings, b)
	s.setStamp(found)
	s.sum.Store(&sum)
	return s
}

// keptSource makes a source of a kept binary, which differs from each file.
func (m *member) keptSource(c plugin.Candidate, settings plugin.Settings, b known.Binary) *source {
	s := m.newSource(c, settings)
	s.kept = &b
	s.setStamp(manifest.Stamp{})
	return s
}

// again makes a source of the same file, which is to have that digest if its content is judged.
func (s *source) again(sum *manifest.Digest) *source {
	next := s.member.newSource(s.candidate(), s.settings)
	if next.isJudged() {
		next.sum.Store(sum)
	}
	return next
}

// candidate returns what the source was made of.
func (s *source) candidate() plugin.Candidate {
	c := plugin.Candidate{Name: s.member.owner, Path: s.path}
	if s.file != s.path {
		c.Target = s.file
	}
	return c
}

// isAttached reports whether the source is a provider that was attached: neither a plugin's
// file nor a server.
func (s *source) isAttached() bool { return s.attached != nil }

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
	c.Accepted, c.CacheDir = s.accepted, r.caches.of(s.member.owner, s.shownPath())
	c.OnState = func(now plugin.Status) {
		if s.reports.Load() {
			r.opts.Plugin.OnState(now)
		}
	}
	c.Kept = func() (path, sha256 string) { return s.keptCopy(r.binaries) }
	c.Started, c.Enforced = s.started, s.enforced
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
	if s.attached != nil {
		return s.attached.list(ctx)
	}
	var tools []tool.Tool
	if tools, out.err = s.plugin.Tools(ctx); len(tools) > 0 {
		out.run, out.preview = tools[0].Handler, tools[0].Preview // as those of all its tools
	}
	for i := range tools {
		out.definitions = append(out.definitions, &tools[i].Definition)
	}
	return out
}

// describe is what the registry is told of a listing.
func (s *source) describe(said listing) Listing {
	out := Listing{
		Owner: s.member.owner, Definitions: said.definitions, Handler: said.run, Preview: said.preview,
		Checked: said.checked, Recalled: said.recalled,
	}
	if s.attached != nil {
		out.Source = s
		_, out.Functions = s.attached.Provider.(*tool.Set)
		if _, ok := s.attached.Provider.(tool.SessionEnder); ok {
			out.Keeper = s.attached
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

// isDisabled reports whether the operator does not want the plugin.
func (s *source) isDisabled() bool { return s.plugin == nil && s.attached == nil }

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

// close closes what the tools come from. Calls of an attached provider may end first.
func (s *source) close(ctx context.Context) error {
	switch {
	case s.attached != nil:
		return s.attached.close(ctx)
	case s.plugin != nil:
		return s.member.contain(func() error { return s.plugin.Close(ctx) })
	}
	return nil
}

// contain runs a function of what the tools come from, whose panic becomes an error.
func (m *member) contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := chain.Recovered("the provider of plugin "+m.owner, v)
			m.roster.log.Error(p.Where+" panicked", "panic", p.Value, "stack", p.Stack)
			err = &tool.Error{
				Code: tool.CodeUnavailable, Plugin: m.owner, Message: p.Error(),
				OperatorHint: "report this to its author", Detail: p.Stack, Err: p,
			}
		}
	}()
	return f()
}
