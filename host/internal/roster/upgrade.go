package roster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// failedUpgrade is a newer file, or other settings, that were tried in vain. They are not
// tried again until they change, or after a pause if the process did not start.
type failedUpgrade struct {
	found    manifest.Stamp
	sum      *manifest.Digest
	settings plugin.Settings
	reason   string
	failure  *manifest.Failure // nil: it started
	server   *plugin.Server    // nil: it is a file
}

// differs reports whether a file and settings are not those that were tried in vain, or may
// be tried again.
func (f *failedUpgrade) differs(found manifest.Stamp, settings plugin.Settings) bool {
	return f.found != found || !reflect.DeepEqual(f.settings, settings) ||
		f.failure != nil && !time.Now().Before(f.failure.DueUnasked())
}

// upgrade replaces the member's source without losing a call: the new process starts first
// and says what it serves, the tools are exchanged in one step, calls on their way to the
// old process go to the new one, and those under way end where they are. If the new one
// cannot be used, everything stays as it is.
func (m *member) upgrade(ctx context.Context, old, next *source) error {
	if old.isDisabled() || next.isDisabled() {
		return m.toggle(ctx, old, next)
	}
	leftOut, err := m.replaceSource(ctx, old, next)
	if err != nil {
		return m.rejectUpgrade(ctx, old, next, err)
	}
	m.roster.ReturnNames()
	next.catchUp()
	next.keep()
	from, _ := old.plugin.Description()
	to, _ := next.plugin.Description()
	m.upgrades.Add(1)
	m.tell(journal.Upgraded, "plugin upgraded", "from", from.Version, "to", to.Version, "tools", len(to.Tools))
	return leftOut
}

// replaceSource starts the next source and exchanges the tools. It returns as leftOut what
// is wrong with single tools, and as err why nothing was exchanged.
func (m *member) replaceSource(ctx context.Context, old, next *source) (leftOut, err error) {
	said := next.list(ctx)
	if said.err != nil {
		return nil, said.err
	}
	m.mu.Lock() // the old source's changes are published before this, or not at all
	defer m.mu.Unlock()
	set, bad := m.compile(ctx, next, said)
	if set.Entries == nil && bad != nil {
		return nil, bad
	}
	if err := m.become(active, old, next, func() { m.handOver(old, next) }); err != nil {
		return nil, err
	}
	faults, _ := m.roster.publish([]*source{next}, []Set{set})
	return errors.Join(append(faults, bad)...), nil
}

// rejectUpgrade leaves the old source in its place, and notes and returns the reason.
func (m *member) rejectUpgrade(ctx context.Context, old, next *source, why error) error {
	if next.lastFailure() == nil {
		_ = m.roster.memory.recallFailure(ctx, next) // how often it has failed before
	}
	next.noteFailure(ctx, why)
	return m.noteFailedUpgrade(ctx, old, next, why)
}

// noteFailedUpgrade notes, and returns, why the next source does not take the place of the one
// that serves.
func (m *member) noteFailedUpgrade(ctx context.Context, serving, next *source, why error) error {
	reason := tool.AsError(why).Message
	m.roster.mu.Lock()
	if m.source == serving {
		m.failed = &failedUpgrade{next.stamp(), next.sum.Load(), next.settings, reason, next.failure, next.server}
	}
	m.roster.mu.Unlock()
	m.journal.Tell(hclog.Warn.String(), journal.UpgradeFailed, "plugin was not upgraded, and runs on as it was: "+reason)
	_ = next.close(context.WithoutCancel(ctx))
	e := *tool.AsError(why)
	e.Message = fmt.Sprintf("plugin %s was not upgraded, and runs on as it was: %s", m.owner, reason)
	e.Err = why
	return &e
}

// forgetFailed forgets a failed upgrade of a source: the file is as the source's again.
func (m *member) forgetFailed(s *source) {
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	if m.source == s {
		m.failed = nil
	}
}

// toggle replaces a source by one that is disabled, or the other way round. No process
// takes the other's calls.
func (m *member) toggle(ctx context.Context, old, next *source) error {
	if err := m.become(stateFor(next), old, next, func() { m.retire(old) }); err != nil {
		return errors.Join(err, next.close(ctx))
	}
	m.roster.registry.Drop(m.owner)
	if next.isDisabled() {
		m.roster.ReturnNames()
		return nil
	}
	return m.load(ctx, next, startAlways)
}

// withdraw removes a plugin whose file is gone: first its tools, so that no new call finds
// them, and then its process, when its calls have ended.
func (m *member) withdraw(s *source) {
	if s == nil || s.path == "" {
		return
	}
	m.mu.Lock() // a change of its tools is published before this, or not at all
	err := m.become(absent, s, nil, func() { m.retire(s) })
	if err == nil {
		m.roster.registry.Drop(m.owner)
	}
	m.mu.Unlock()
	if err != nil {
		return
	}
	m.tell(journal.Removed, "plugin withdrawn")
	m.roster.ReturnNames()
}

// handOver ends the old process when its calls have ended; those that come later go to the
// next.
func (m *member) handOver(old, next *source) {
	ctx, cancel := m.roster.retirement()
	defer cancel()
	if err := old.plugin.HandOver(ctx, next.plugin); err != nil {
		m.roster.log.Warn("the old process of a plugin did not end in good order", "plugin", m.owner, "error", err)
	}
}

// retire closes a source that nothing replaces, when its calls have ended.
func (m *member) retire(s *source) {
	ctx, cancel := m.roster.retirement()
	defer cancel()
	_ = s.close(ctx)
}

// Bounds of how long the calls of a process that was replaced or withdrawn may take to
// end, and how long after the roster begins to close.
const (
	retireTimeout = 5 * time.Minute
	closeGrace    = 5 * time.Second
)

// retirement returns a context that ends when the calls of a process that goes have had
// time enough.
func (r *Roster) retirement() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), retireTimeout)
	stop := context.AfterFunc(r.life, func() { time.AfterFunc(closeGrace, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
