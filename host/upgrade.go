package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// upgradeFault is a newer state of a plugin that was tried in vain, and is not tried
// again until it changes.
type upgradeFault struct {
	found    manifest.Stamp
	settings plugin.Settings
	reason   string
}

// upgrade puts another binary, or the same by other settings, in a plugin's place
// without losing a call: the new process starts first and says what it serves, the
// tools are exchanged in one step, calls that were on their way to the old one go to
// the new, and those under way end where they are. A new one that cannot be used
// leaves all as it is.
func (h *Host) upgrade(ctx context.Context, old source, c plugin.Candidate, settings plugin.Settings) error {
	next := h.newSource(c, settings)
	if old.plugin == nil || next.plugin == nil { // from or to disabled
		return h.exchange(ctx, old, next)
	}
	tools, err := next.plugin.Tools(ctx)
	if err != nil {
		return h.keep(ctx, old, next, err)
	}
	taken, err := h.swap(ctx, old, &next, tools)
	if err != nil {
		return h.keep(ctx, old, next, err)
	}
	h.follow(next)
	was, _ := old.plugin.Description()
	is, _ := next.plugin.Description()
	h.opts.logger.Info("plugin upgraded", "plugin", next.owner, "from", was.Version, "to", is.Version)
	return taken
}

// swap exchanges a plugin's tools for those of the next one, in one step. Taken are
// those tools that could not be used; err is why none could.
func (h *Host) swap(ctx context.Context, old source, next *source, tools []tool.Tool) (taken, err error) {
	next.fresh = old.fresh // so that the old one's changes come before or not at all
	next.fresh.Lock()
	defer next.fresh.Unlock()
	h.ruling.RLock()
	defer h.ruling.RUnlock()
	entries, bad := h.entriesOf(ctx, *next, listing{tools: tools})
	if entries == nil && bad != nil {
		return nil, bad
	}
	if err := h.put(old, *next, func() { h.retire(old, *next) }); err != nil {
		return nil, err
	}
	taken = errors.Join(bad, h.registry.sync(next.owner, entries))
	h.noteNames(*next)
	return taken, nil
}

// follow brings the registry up to date whenever a plugin says that its tools have
// changed.
func (h *Host) follow(s source) {
	s.changes.follow(func() {
		if err := h.update(h.life, s); err != nil && h.life.Err() == nil {
			h.noteUpdate(s.owner, err)
		}
	})
}

// keep leaves the old one in its place, and says why.
func (h *Host) keep(ctx context.Context, old, next source, why error) error {
	reason := tool.AsError(why).Message
	old.failed = &upgradeFault{next.found, next.settings, reason}
	_ = h.put(old, old, nil)
	_ = next.provider.Close(context.WithoutCancel(ctx))
	e := *tool.AsError(why)
	e.Message = fmt.Sprintf("plugin %s was not upgraded, and runs on as it was: %s", old.owner, reason)
	e.Err = why
	return &e
}

// put has a source stand where another stood (the same one with other facts, too), and
// does something in the background that Close waits for; nil: nothing.
func (h *Host) put(old, next source, after func()) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.sources, old.is)
	switch {
	case h.closed.Load():
		return closedError(next.owner)
	case i < 0: // as it was attached by hand meanwhile
		return sameName(next.owner, "")
	}
	h.sources[i] = next
	if after != nil {
		h.watchers.Go(after)
	}
	return nil
}

// retire ends the old process when its calls have ended, or the host has no more time
// for them.
func (h *Host) retire(old, next source) {
	ctx, cancel := h.farewell()
	defer cancel()
	if err := old.plugin.HandOver(ctx, next.plugin); err != nil {
		h.opts.logger.Warn("the old process of a plugin did not end in good order", "plugin", old.owner, "error", err)
	}
}

// exchange puts a source in another's place where one of the two is disabled, and
// nothing runs on.
func (h *Host) exchange(ctx context.Context, old, next source) error {
	var after func()
	if old.plugin != nil {
		after = func() { h.end(old) }
	}
	if err := h.put(old, next, after); err != nil {
		return errors.Join(err, next.provider.Close(ctx))
	}
	h.Unregister(old.owner)
	if next.plugin == nil {
		return nil
	}
	return errors.Join(h.takeAll(ctx, []source{next}, []listing{h.list(ctx, next)})...)
}

// withdraw takes a plugin away whose file is gone: its tools first, so that what comes
// later finds none, and then its process, when its calls have ended.
func (h *Host) withdraw(s source) {
	s.fresh.Lock() // a change of its tools comes before or not at all
	defer s.fresh.Unlock()
	if !h.remove(s) {
		return
	}
	h.Unregister(s.owner)
	h.opts.logger.Info("plugin withdrawn", "plugin", s.owner)
	h.mu.Lock()
	closed := h.closed.Load()
	if !closed {
		h.watchers.Go(func() { h.end(s) })
	}
	h.mu.Unlock()
	if closed { // Close does not know it any more
		h.end(s)
	}
}

// remove takes a source off the list, and reports whether it was there.
func (h *Host) remove(s source) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.sources, s.is)
	if i < 0 || h.closed.Load() {
		return false
	}
	h.sources = slices.Delete(slices.Clone(h.sources), i, i+1)
	return true
}

// end closes what is no longer of this host's, when its calls have ended.
func (h *Host) end(s source) {
	ctx, cancel := h.farewell()
	defer cancel()
	_ = s.provider.Close(ctx)
}

// Bounds of how long the calls of a process that was replaced or withdrawn may take to
// end, and when the host closes.
const (
	retireTimeout = 5 * time.Minute
	closeGrace    = 5 * time.Second
)

// farewell ends when the calls of a process that goes have had time enough.
func (h *Host) farewell() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), retireTimeout)
	stop := context.AfterFunc(h.life, func() { time.AfterFunc(closeGrace, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
