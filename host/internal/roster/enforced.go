package roster

import (
	"context"
	"reflect"
	"strings"

	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// enforced is what no start of the source may do without.
func (s *source) enforced() *pluginrun.Enforced { return s.member.roster.book.Of(s.key).Enforced }

// raise notes after a start what was enforced, below which no other is to fall, and tells after the
// first what is open.
func (s *source) raise() {
	r := s.member.roster
	before := s.enforced()
	now := s.plugin.Raised(before)
	if now == nil || reflect.DeepEqual(before, now) {
		return
	}
	err := r.book.Note(func(all known.Records) {
		all.Change(s.key, func(one *known.Record) {
			if again := s.plugin.Raised(one.Enforced); again != nil {
				one.Enforced = again
			}
		})
	})
	if err != nil {
		r.log.Warn("what is enforced of a plugin's sandbox is not remembered", "plugin", s.member.owner, "error", err)
	}
	if advice := s.plugin.Sandbox().Advice; before == nil && advice != "" {
		s.member.tellText(journal.Open, "plugin has started for the first time, and not all is closed to it", "open", advice)
	}
}

// AcceptSandbox accepts that a plugin's sandbox enforces less, as host.Host.AcceptSandbox says.
func (r *Roster) AcceptSandbox(ctx context.Context, name string) error {
	m, end, err := r.begin(ctx, name)
	if err != nil {
		return err
	}
	defer end()
	s := m.now().source
	if s == nil || s.plugin == nil {
		return noPlugin(name)
	}
	var lines []string
	for _, l := range s.plugin.Sandbox().Less {
		lines = append(lines, l.Is.Name)
	}
	if err := r.book.Decide(func(all known.Records) { all.Loosen(s.key, lines) }); err != nil {
		return err
	}
	m.tell(journal.Accepted, "the operator accepted that its sandbox enforces less", "lines", strings.Join(lines, " "))
	return m.restart(ctx)
}
