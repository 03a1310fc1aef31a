package roster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Mount adds a server, or upgrades it, as host.Host.Mount says.
func (r *Roster) Mount(ctx context.Context, server plugin.Server) error {
	if err := pluginrun.CheckServer(server); err != nil {
		return err
	}
	m := r.member(server.Name)
	end, err := m.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	release, err := r.starting.take(ctx, server.Name)
	if err != nil {
		return err
	}
	defer release()
	switch now := m.now().source; {
	case now != nil && now.server == nil:
		return nameTaken(server.Name, now.path)
	case now == nil, !now.isSettled() && !now.isServer(server):
		return m.mount(ctx, now, m.newServer(server))
	case !now.isServer(server):
		err := m.upgrade(ctx, now, m.newServer(server))
		r.keepTrying(m.now().source)
		return err
	case now.isUnusable():
		return m.load(ctx, now, startIfDue)
	default:
		m.forgetFailed(now)
		return nil
	}
}

// mount puts a server where nothing is, or one whose tools are not known.
func (m *member) mount(ctx context.Context, old, next *source) error {
	var background func()
	if old != nil {
		background = func() { m.retire(old) }
	}
	if err := m.become(stateFor(next), old, next, background); err != nil || next.isDisabled() {
		return err
	}
	err := m.load(ctx, next, startIfQuick)
	m.roster.keepTrying(next)
	if about, known := next.plugin.Description(); known {
		m.tell(journal.Added, "server mounted", "version", about.Version, "tools", len(about.Tools))
	}
	return err
}

// Start starts a plugin, as host.Host.StartPlugin says.
func (r *Roster) Start(ctx context.Context, name string) error {
	m := r.find(name)
	if m == nil {
		return noPlugin(name)
	}
	s, err := m.known(ctx)
	if err != nil {
		return err
	}
	return s.plugin.Ready(ctx)
}

// known returns the member's source, a plugin, when its tools are known.
func (m *member) known(ctx context.Context) (*source, error) {
	end, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s := m.now().source
	switch {
	case s == nil || s.isAttached():
		return nil, noPlugin(m.owner)
	case s.isDisabled():
		return nil, isDisabled(m.owner)
	case s.isSettled():
		return s, nil
	}
	release, err := m.roster.starting.take(ctx, m.owner)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := m.load(ctx, s, startAlways); !s.isServed() {
		return nil, err
	}
	return m.now().source, nil
}

func isDisabled(name string) error {
	return tool.Errorf(tool.CodeUnavailable, "plugin %s is disabled", name).
		Of("", name).At(callstage.Start).NeverSent().Fix(remedy.Enable.For(name))
}

// isServer reports whether the source is of that server, with its settings.
func (s *source) isServer(other plugin.Server) bool {
	return s.server != nil && s.server.Identity == other.Identity && s.server.Revision == other.Revision &&
		reflect.DeepEqual(s.settings, other.Settings)
}

// revision is the digest of a server's revision, which may tell of secrets; empty: it has none.
func (s *source) revision() string {
	if s.server == nil || s.server.Revision == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.server.Revision))
	return hex.EncodeToString(sum[:])
}

// kind is what an operator is told that the source is; empty: a plugin's file.
func (s *source) kind() string {
	if s.server == nil {
		return ""
	}
	return cmp.Or(s.server.Kind, pluginrun.KindMCP)
}

// keepTrying starts a server again whose tools are not known, after the pauses of
// [manifest.Failure], as Follow does with plugins' files.
func (r *Roster) keepTrying(s *source) {
	if s == nil || s.isSettled() {
		return
	}
	r.inBackground(func() {
		for {
			f := s.lastFailure()
			if f == nil || s.isSettled() || s.member.now().source != s {
				return
			}
			if !deadline.Sleep(r.life, time.Until(f.DueUnasked())) {
				return
			}
			s.member.tryAgain(r.life)
			if again := s.lastFailure(); again != nil && again.At.Equal(f.At) && !time.Now().Before(f.DueUnasked()) {
				return // nothing was tried, as the roster closes
			}
		}
	})
}
