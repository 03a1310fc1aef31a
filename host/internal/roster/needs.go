package roster

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin's process gets no more than what the operator has accepted of its needs: what the
// locks pin or, if they do not say, what it declared when it first ran, in the book. Needs
// that are larger after an upgrade are given once the operator has accepted them.

// ceiling is what was accepted of the needs of a plugin, as [pluginrun.Config.Accepted] has it.
type ceiling struct {
	needs *tool.Needs
	known bool
}

// bind decides, before each start, what bounds it.
func (s *source) bind() {
	s.member.roster.Reread()
	s.given.Store(new(s.ceiling()))
}

// accepted is what bounds a start.
func (s *source) accepted() (*tool.Needs, bool) {
	c := s.ceiling()
	return c.needs, c.known
}

// Reread reads what other processes have noted in the book.
func (r *Roster) Reread() {
	if err := r.book.Reload(); err != nil {
		r.log.Warn("what is known of plugins cannot be read, so what was read before counts", "error", err)
	}
}

func (s *source) ceiling() ceiling {
	if s.server != nil { // which declares nothing
		return ceiling{}
	}
	if c := s.pinned(); c.known {
		return c
	}
	if c := s.member.accepting.Load(); c != nil {
		return *c
	}
	one := s.member.roster.book.Of(s.key)
	return ceiling{one.Needs, one.Ran}
}

// pinned is what the locks say.
func (s *source) pinned() ceiling {
	pins, err := s.pins()
	if p, ok := pins.(pluginrun.NeedsPins); ok && err == nil {
		n, known := p.Needs(s.member.owner)
		return ceiling{n, known}
	}
	return ceiling{}
}

// record notes which names plugins have, and with which needs they ran, whose tools have just been
// registered, and which of them want more than was accepted. It forgets the names of the plugins of
// their directories that are not there any more.
func (r *Roster) record(registered map[*source][]Entry) {
	there, ran := map[known.Plugin]bool{}, map[*source]*tool.Needs{}
	for _, s := range r.sources() {
		there[s.key] = true
	}
	for s := range registered {
		if about, said := s.description(); said && s.path != "" {
			ran[s] = need.Within(about.Needs, s.pinned().needs)
		}
	}
	err := r.book.Note(func(all known.Records) {
		for s, entries := range registered {
			if s.isAttached() {
				continue
			}
			for name := range all[s.key.Dir] {
				if other := (known.Plugin{Dir: s.key.Dir, Name: name}); !there[other] {
					all.Change(other, func(one *known.Record) { one.Names = nil })
				}
			}
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.ClaimedName()
			}
			slices.Sort(names)
			all.Change(s.key, func(one *known.Record) { one.Names = names })
			if n, said := ran[s]; said {
				all.Ran(s.key, n)
			}
		}
	})
	if err != nil {
		r.log.Warn("which plugin has which names, and ran with which needs, is not remembered", "error", err)
	}
	for s := range registered {
		s.compareNeeds()
	}
}

// description is what a plugin said of itself last; false: nothing yet, or it is disabled.
func (s *source) description() (about wire.Description, said bool) {
	if s.plugin == nil {
		return about, false
	}
	return s.plugin.Description()
}

// compareNeeds notes by what a plugin's needs exceed what was accepted, and reports it once.
func (s *source) compareNeeds() {
	var wants *plugin.WantsMore
	if about, said := s.description(); said && s.path != "" {
		wants = s.exceeds(about.Needs)
	}
	r, m := s.member.roster, s.member
	r.mu.Lock()
	s.wants = wants
	tell := false
	if m.source == s {
		text := ""
		if wants != nil {
			text = wants.Text
		}
		tell = text != "" && text != m.reportedWants
		m.reportedWants = text
	}
	r.mu.Unlock()
	if tell {
		m.tellText(journal.WantsMore, "plugin wants more than was accepted, and runs without", "more", wants.Text, "accept", wants.Accept)
	}
}

// exceeds returns by what needs exceed what was accepted; nil: by nothing.
func (s *source) exceeds(n *tool.Needs) *plugin.WantsMore {
	c := s.ceiling()
	if !c.known {
		return nil
	}
	more := pluginrun.Undecided(s.settings.Sandbox, need.Changes(n, c.needs).Larger())
	if more == nil {
		return nil
	}
	return &plugin.WantsMore{
		Changes: more, Text: more.String(), Accept: remedy.AcceptNeeds.For(s.member.owner),
	}
}

// wantsMore returns what a plugin declares and was not accepted; nil: nothing.
func (s *source) wantsMore() *plugin.WantsMore {
	s.member.roster.mu.Lock()
	defer s.member.roster.mu.Unlock()
	return s.wants
}

// AcceptNeeds accepts the needs of a plugin, as host.Host.AcceptNeeds says.
func (r *Roster) AcceptNeeds(ctx context.Context, name string, n *tool.Needs) error {
	if err := egress.CheckNeeds(n); err != nil {
		return err
	}
	m, end, err := r.begin(ctx, name)
	if err != nil {
		return err
	}
	defer end()
	s := m.now().source
	if s == nil || s.path == "" {
		return noPlugin(name)
	}
	m.accepting.Store(&ceiling{n, true})
	leftOut := m.regrant(ctx)
	if leftOut != nil && m.now().source == s { // it did not start, and no later start would
		m.accepting.Store(nil)
		s.compareNeeds()
		return leftOut
	}
	err = r.book.Decide(func(all known.Records) { all.Accept(s.key, n) })
	m.accepting.Store(nil)
	if err != nil {
		err = tool.Errorf(tool.CodeInternal, "the needs of plugin %s are accepted in this process alone: %w", name, err).
			Of("", name).Fix("accept them again, once that is mended")
		return errors.Join(err, leftOut)
	}
	m.tell(journal.Accepted, "the operator accepted its needs")
	return leftOut
}

// regrantAll gives running plugins what was accepted since they were started.
func (r *Roster) regrantAll(ctx context.Context, only string) error {
	var faults []error
	for _, s := range r.sources() {
		if s.plugin == nil || only != "" && s.member.owner != only {
			continue
		}
		if s.compareNeeds(); s.isBoundAsBefore() {
			continue
		}
		end, err := s.member.begin(ctx)
		if err == nil {
			err = s.member.regrant(ctx)
			end()
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// isBoundAsBefore reports whether a process that runs gets what it would get if it was started
// now, or none runs.
func (s *source) isBoundAsBefore() bool {
	given := s.given.Load()
	if given == nil || s.server != nil || s.plugin.Status().PID == 0 {
		return true
	}
	about, _ := s.plugin.Description()
	return reflect.DeepEqual(need.Within(about.Needs, given.needs), need.Within(about.Needs, s.ceiling().needs))
}

// regrant starts a plugin again that runs with other needs than are accepted now. The caller
// holds the turn.
func (m *member) regrant(ctx context.Context) error {
	s := m.now().source
	if s == nil || s.plugin == nil {
		return nil
	}
	if s.compareNeeds(); s.isBoundAsBefore() {
		return nil
	}
	if s.kept != nil || manifest.StampOf(s.file) != s.stamp() {
		return s.plugin.Restart(ctx) // what runs is a copy
	}
	release, err := m.roster.starting.take(ctx, m.owner)
	if err != nil {
		return err
	}
	defer release()
	return m.upgrade(ctx, s, s.again(s.sum.Load()))
}
