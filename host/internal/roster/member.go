package roster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/early"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// member is a name under which a plugin, or an attached provider, can be found. It
// outlives what it stands for: a plugin that is withdrawn leaves a member that is absent.
type member struct {
	roster *Roster
	owner  string
	turn   chan struct{} // full while a step is under way; see begin
	mu     sync.Mutex    // held while what the source serves is listed, compiled and published
	// publishing is held while entries are published, and while the source is detached, so
	// that what was listed before is not published after.
	publishing sync.Mutex
	facts      // guarded by Roster.mu

	journal *journal.Journal // of all its sources
	usage   pluginrun.Usage  // likewise

	upgrades atomic.Int64
	// accepting bounds starts while one shows whether the plugin starts so; nil: what is known of it does.
	accepting atomic.Pointer[ceiling]
}

// facts are what is known of a member at one moment.
type facts struct {
	state  memberState
	source *source        // nil: absent
	failed *failedUpgrade // nil: no newer file, or other settings, were tried in vain
	held   heldChange     // zero: nothing waits for the operator
	lost   *lostNames     // nil: it has the names of all its tools
	// reportedWants is what was reported last of what it wants and was not accepted; empty: nothing.
	reportedWants string
	// detached is the file of the plugin that was detached: it comes back only if the
	// operator says so. Empty: none was.
	detached string
}

// memberState is what a member's tools are doing.
type memberState int

// The states. Load, and a step that finds a new file, take a member from absent to loading
// and then to active, or to disabled. An upgrade leaves it active; one to or from disabled
// goes over disabled or loading. A withdrawal makes it absent, from any state.
const (
	absent   memberState = iota // the name is free
	loading                     // the name is taken, and the tools are not registered yet
	active                      // the registry has what the source serves, and follows its changes
	disabled                    // the operator does not want it: it has no process and no tools
)

// stateFor returns the state in which a new source begins.
func stateFor(s *source) memberState {
	if s.isDisabled() {
		return disabled
	}
	return loading
}

// become moves the member from a source (nil: it is absent) to another, or the same, and
// to a state. It is the only function that does, besides Close. After it, background (nil:
// nothing) runs in a goroutine that Close waits for; it ends what is left of from.
//
// # Errors
//
// [tool.CodeUnavailable] if the roster is closed; [tool.CodeAlreadyExists] if the member
// has another source by now.
func (m *member) become(to memberState, from, next *source, background func()) error {
	r := m.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return closedError(m.owner)
	case m.source != from:
		return alreadyLoaded(m.owner, m.source)
	}
	if r.members[m.owner] != m { // the name went to another member
		return closedError(m.owner)
	}
	if from != next {
		m.failed = nil
	}
	if next != nil {
		m.detached = ""
	}
	m.reportMove(to, from, next)
	if next == nil || to == disabled {
		m.lost = nil
	}
	m.state, m.source = to, next
	if background != nil {
		if from != next {
			r.draining[from] = true
		}
		r.background.Go(func() {
			background()
			if next == nil && !from.isAttached() {
				r.opts.Plugin.OnState(plugin.Status{Name: m.owner})
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.draining, from)
		})
	}
	return nil
}

// reportMove reports the state that the member gets with another source, unless the source
// does. The lock is held.
func (m *member) reportMove(to memberState, from, next *source) {
	if from == next || next == nil || next.isAttached() {
		return
	}
	if from != nil {
		from.reports.Store(false)
	}
	next.reports.Store(true)
	tell := m.roster.opts.Plugin.OnState
	switch {
	case to == disabled:
		tell(plugin.Status{Name: m.owner, State: plugin.Disabled, Reason: next.settings.Reason})
	case from != nil && next.plugin != nil:
		tell(next.plugin.Status())
	}
}

// now returns the facts of this moment.
func (m *member) now() facts {
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	return m.facts
}

// begin waits for the step that is under way, and begins the next. The caller calls end
// when the step is done.
func (m *member) begin(ctx context.Context) (end func(), err error) {
	end = func() { <-m.turn }
	select {
	case m.turn <- struct{}{}:
		return end, nil
	default:
	}
	select {
	case m.turn <- struct{}{}:
		return end, nil
	case <-ctx.Done():
		return nil, notStarted(ctx, m.owner)
	}
}

// tell logs what has become of the plugin, and keeps it in its journal. Args are keys and
// values, which the plugin may have chosen.
func (m *member) tell(event, what string, args ...any) {
	text := what
	for i := 0; i+1 < len(args); i += 2 {
		value := sanitize.Line(fmt.Sprint(args[i+1]), 100)
		if args[i+1] = value; value != "" {
			text += fmt.Sprintf(" %v=%s", args[i], value)
		}
	}
	m.roster.log.Info(what, append([]any{pluginrun.EventKey, event, "plugin", m.owner}, args...)...)
	m.journal.Tell(hclog.Info.String(), event, text, args...)
}

// tellText is tell of a text, which may be long.
func (m *member) tellText(event, what, key, text string, args ...any) {
	text = sanitize.Line(text, 1000)
	m.roster.log.Info(what, append([]any{pluginrun.EventKey, event, "plugin", m.owner, key, text}, args...)...)
	m.journal.Tell(hclog.Info.String(), event, what+": "+text)
}

// compile makes entries of what a source said. A plugin of which nothing can be used is
// refused. If there is nothing wrong with what it said, it is remembered, by register if tools are published early.
func (m *member) compile(ctx context.Context, s *source, said listing) (Set, error) {
	set := Set{Owner: m.owner}
	if said.err != nil {
		return set, said.err
	}
	l := s.describe(said)
	if s.plugin == nil {
		var err error
		set.Entries, err = m.roster.registry.Compile(ctx, l)
		return set, err
	}
	// Compiling may take as long as a start.
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(max(s.settings.StartTimeout, 0), pluginrun.DefaultStartTimeout))
	defer cancel()
	entries, bad := m.roster.registry.Compile(ctx, l)
	if entries == nil {
		s.plugin.Refuse(bad)
	} else {
		s.plugin.Refuse(nil)
	}
	if early.Begun(ctx) == nil {
		m.roster.memory.rememberSaid(ctx, s, said, bad == nil)
	}
	set.Entries = entries
	return set, bad
}

// refresh makes the registry hold what a source serves now, if it is still the member's.
func (m *member) refresh(ctx context.Context, s *source) error {
	freed, err := m.refreshAlone(ctx, s)
	if freed {
		m.roster.ReturnNames()
	}
	return err
}

// refreshAlone is refresh that reports whether the source gave up names, which others want.
func (m *member) refreshAlone(ctx context.Context, s *source) (freed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now().source != s {
		return false, nil
	}
	said := s.list(ctx)
	if said.err != nil {
		return false, said.err
	}
	set, bad := m.compile(ctx, s, said)
	m.publishing.Lock()
	defer m.publishing.Unlock()
	if m.now().source != s { // it was detached meanwhile
		return false, bad
	}
	known := s.isServed()
	faults, results := m.roster.publish([]*source{s}, []Set{set})
	if known {
		var of Result
		if len(results) > 0 {
			of = results[0]
		}
		m.tell(journal.ToolsChanged, "tools have changed", "added", strings.Join(of.Added, " "), "removed", strings.Join(of.Removed, " "))
	}
	return haveFreed(results), errors.Join(append(faults, bad)...)
}

// restart ends the process of a plugin, when its calls have ended, starts it again, and asks for its tools if
// they are not known.
func (m *member) restart(ctx context.Context) error {
	s := m.now().source
	if s == nil || s.plugin == nil {
		return noPlugin(m.owner)
	}
	if now := m.now(); s.server != nil && now.failed != nil {
		return m.upgrade(ctx, s, m.newServer(*now.failed.server))
	} else if s.kept != nil || now.failed != nil {
		return m.restartFile(ctx, now)
	}
	if err := s.asAccepted(ctx); err != nil {
		return err // the operator looks at the file first
	}
	if err := s.plugin.Restart(ctx); err != nil {
		return err
	}
	if s.isServed() {
		return s.plugin.Ready(ctx)
	}
	err := m.refresh(ctx, s)
	s.noteFailure(ctx, err)
	return err
}

// restartFile tries the file that a kept binary, or the one before it, serves in place of, and
// ends a rollback. If the file does not start, everything stays as it is.
func (m *member) restartFile(ctx context.Context, now facts) error {
	c := now.source.candidate()
	accepted, sum := now.source.stamp(), now.source.sum.Load()
	if now.failed != nil {
		accepted, sum = now.failed.found, now.failed.sum
	}
	if m.roster.inWorkspace(c.Path) && manifest.StampOf(c.Binary()) != accepted {
		return changedInWorkspace(m.owner, c.Path)
	}
	if now.source.isRolledBack() {
		m.endRollback(c.Path)
	}
	return m.upgrade(ctx, now.source, now.source.again(sum))
}

// status returns what an operator sees of a member; false: it is not a plugin.
func (f facts) status(owner string) (plugin.Status, bool) {
	held := ""
	if f.held.path != "" {
		held = f.held.reason(f.source != nil)
	}
	switch s := f.source; {
	case s == nil && held != "":
		return plugin.Status{Name: owner, Path: f.held.path, State: plugin.Refused, Reason: held, Held: held}, true
	case s == nil || s.isAttached():
		return plugin.Status{}, false
	case f.state == disabled:
		return plugin.Status{
			Name: owner, Path: s.shownPath(), Kind: s.kind(), State: plugin.Disabled, Reason: s.settings.Reason, Held: held,
		}, true
	default:
		out := s.plugin.Status()
		failure := s.lastFailure()
		switch {
		case out.State != plugin.Idle:
		case f.state == loading:
			out.State = plugin.Starting
		case failure != nil: // in an earlier process
			out.State, out.Reason = plugin.Refused, failure.Message
		}
		if failure != nil && out.State != plugin.Starting {
			out.RetryAt = failure.Due()
		}
		out.Held, out.Lost, out.WantsMore = held, f.lost.names(), s.wantsMore()
		if f.failed != nil {
			out.Upgrade = f.failed.reason
		}
		out.Usage, out.Upgrades = s.member.usage.Now(), int(s.member.upgrades.Load())
		s.addKept(&out)
		s.addOffers(&out)
		return out, true
	}
}

func closedError(owner string) error {
	return tool.Errorf(tool.CodeUnavailable, "plugin %s is not loaded: the host is closed", owner).
		Of("", owner).At(callstage.Register).Try("make a new host")
}

func noPlugin(name string) error {
	return tool.Errorf(tool.CodeNotFound, "there is no plugin %.64q", name).
		Of("", name).At(callstage.Start).Fix(remedy.ListPlugins.String())
}

// alreadyLoaded is the error for a name that a source has already.
func alreadyLoaded(owner string, by *source) error {
	path := ""
	if by != nil {
		path = by.shownPath()
	}
	return nameTaken(owner, path)
}

func nameTaken(owner, path string) error {
	return tool.Errorf(tool.CodeAlreadyExists,
		"plugin %s is loaded already, from %s", owner, cmp.Or(path, "another provider")).
		Of("", owner).At(callstage.Register).Try("rename one of the two; the first stays")
}
