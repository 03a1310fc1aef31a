package roster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Missing is asked about a tool that no owner serves. It starts the plugins that have it, by
// its name or as they had it before, if they may be tried again, and waits for them: then
// the tool may be there. Else it returns why a plugin cannot be used that has the tool
// (certain), or that may have it; nil: no plugin is missing.
func (r *Roster) Missing(ctx context.Context, name string) (why *tool.Error, certain bool) {
	likely, others := r.absentees(name)
	var all sync.WaitGroup
	for _, m := range likely {
		all.Go(func() { m.tryAgain(ctx) })
	}
	all.Wait()
	return whyMissing(likely, others)
}

// WhyMissing is Missing that starts nothing.
func (r *Roster) WhyMissing(name string) (why *tool.Error, certain bool) {
	return whyMissing(r.absentees(name))
}

// absentees returns the members whose tools are not known, and which the operator has not
// disabled, sorted by name: those that have a tool of that name, and the others.
func (r *Roster) absentees(name string) (likely, others []*member) {
	r.mu.Lock()
	var all []*member
	for _, m := range r.members {
		s := m.source
		if s != nil && s.plugin != nil && !s.served || s == nil && m.held.path != "" {
			all = append(all, m)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.owner, b.owner) })
	for _, m := range all {
		if m.mayHave(name) {
			likely = append(likely, m)
		} else if m.now().source != nil {
			others = append(others, m)
		}
	}
	return likely, others
}

// mayHave reports whether a tool of that name is the member's, by its name or as it was
// before.
func (m *member) mayHave(name string) bool {
	if prefix, _, _ := strings.Cut(name, "."); prefix == m.owner || strings.HasPrefix(name, m.owner+"_") {
		return true
	}
	s := m.now().source
	return s != nil && !s.isAttached() && slices.Contains(m.roster.book.Holders(name), s.key)
}

// tryAgain waits for the step that is under way, and starts the plugin if its tools are not
// known then and it may be tried. What comes of it shows in the member.
func (m *member) tryAgain(ctx context.Context) {
	end, err := m.begin(ctx)
	if err != nil {
		return
	}
	defer end()
	s := m.now().source
	if s == nil || s.plugin == nil || s.isSettled() {
		return
	}
	release, err := m.roster.starting.take(ctx, m.owner)
	if err != nil {
		return
	}
	defer release()
	_ = m.load(ctx, s, startIfDue)
}

// whyAbsent returns why the member's tools are not known; nil: they are.
func (m *member) whyAbsent() *tool.Error {
	now := m.now()
	s := now.source
	if s != nil && s.isSettled() {
		return nil
	}
	if s != nil {
		if f := s.lastFailure(); f != nil {
			return tool.AsError(s.notAgain(f))
		}
	}
	status, _ := now.status(m.owner)
	e := tool.Errorf(tool.CodeUnavailable, "plugin %s is refused: %s", m.owner, status.Reason).
		Of("", m.owner).At(callstage.Start).NeverSent().Fix(pluginrun.TryAgainHint(m.owner))
	if strings.HasPrefix(status.Reason, "plugin "+m.owner+" ") {
		e.Message = status.Reason
	}
	if status.State == plugin.Starting || status.Reason == "" {
		e.Message, e.Hint = fmt.Sprintf("plugin %s has not started yet", m.owner), "try again later"
		e.OperatorHint = ""
	}
	return e
}

// whyMissing returns why one of the likely members, or else the others, cannot be used.
func whyMissing(likely, others []*member) (why *tool.Error, certain bool) {
	for _, m := range likely {
		if why := m.whyAbsent(); why != nil {
			return why, true
		}
	}
	if len(likely) > 0 { // and all are there by now
		return nil, false
	}
	absent := 0
	for _, m := range others {
		one := m.whyAbsent()
		if one == nil {
			continue
		}
		if absent++; absent == 1 {
			why = one
		}
	}
	if absent > 1 {
		why.Message += fmt.Sprintf("; and %d more plugins", absent-1)
		why.OperatorHint = remedy.SeePlugins.String()
	}
	return why, false
}
