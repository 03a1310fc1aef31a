package roster

import (
	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A level that the operator gives a tool is given for its definition, that which was there first: the
// book has it, so that a tool that is another one later does not keep what was given to the first.

// KeepLevels notes the definitions of tools that got a level from the operator just now, and reads
// what other processes have noted.
func (r *Roster) KeepLevels(byOwner map[string][]Entry) {
	for owner, entries := range byOwner {
		if s := r.current(owner); s != nil {
			r.keepLevels(s, entries)
		}
	}
}

func (r *Roster) keepLevels(s *source, entries []Entry) {
	if s.isAttached() {
		return
	}
	before, fresh := r.book.Of(s.key).Levels, map[string]string{}
	for _, e := range entries {
		d, level := e.Given()
		if level == tool.Unset {
			continue
		}
		if key := known.LevelKey(d.Name, level); before[key] == "" {
			if definition := known.Definition(d); definition != "" {
				fresh[key] = definition
			}
		}
	}
	if len(fresh) == 0 {
		return
	}
	err := r.book.Note(func(all known.Records) {
		for key, definition := range fresh {
			all.Give(s.key, key, definition)
		}
	})
	if err != nil {
		r.log.Warn("for which definitions levels were given is not remembered", "plugin", s.member.owner, "error", err)
	}
}

// AcceptLevels notes that the operator gives the levels of tools to their definitions as they are.
func (r *Roster) AcceptLevels(name string, changed []plugin.ChangedTool) error {
	s := r.current(name)
	if s == nil || s.isAttached() {
		return noPlugin(name)
	}
	err := r.book.Decide(func(all known.Records) {
		for _, t := range changed {
			all.Give(s.key, known.LevelKey(t.Tool, t.Level), t.Definition)
		}
	})
	if err == nil && len(changed) > 0 {
		s.member.tell(journal.Accepted, "the operator accepted the levels of its changed tools", "tools", len(changed))
	}
	return err
}

// Answered keeps who answered whether a call of a plugin's tool may run.
func (r *Roster) Answered(owner, tool, call, by string, allowed bool) {
	m := r.find(owner)
	if m == nil {
		return
	}
	answer := "denied"
	if allowed {
		answer = "approved"
	}
	by = sanitize.Line(by, 200)
	m.journal.Tell(hclog.Info.String(), journal.Answered, "a call of "+tool+" was "+answer+" by "+by,
		"tool", tool, "by", by, "answer", answer, "call", call)
}
