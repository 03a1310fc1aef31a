package roster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// withoutReserved leaves out tools whose names another plugin has had before, as long as
// that plugin is there and has not given them up.
func (r *Roster) withoutReserved(s *source, entries []Entry) ([]Entry, error) {
	if s.isAttached() || entries == nil {
		return entries, nil
	}
	var taken []error
	kept := make([]Entry, 0, len(entries))
	for _, e := range entries {
		others := r.book.Holders(e.ClaimedName())
		i := slices.IndexFunc(others, func(other known.Plugin) bool { return r.keeps(other, e.ClaimedName()) })
		if i < 0 || slices.Contains(others, s.key) {
			kept = append(kept, e)
			continue
		}
		taken = append(taken, nameReserved(e, s.key.Name, others[i].Name))
	}
	return kept, errors.Join(taken...)
}

func nameReserved(e Entry, owner, by string) error {
	return tool.Errorf(tool.CodeAlreadyExists, "%v: %s is a tool that plugin %s had before plugin %s was added",
		tool.ErrAlreadyExists, e.Name(), by, owner).Of(e.Name(), owner).At(callstage.Register).
		Because(&TakenError{e.Name(), by}).
		Try(fmt.Sprintf("rename one of the two, or remove the file of %s if its tools are to go to %s", by, owner))
}

// keeps reports whether a plugin that had a name is there and may still serve it: only a
// plugin that says what it serves gives a name up.
func (r *Roster) keeps(other known.Plugin, name string) bool {
	s := r.current(other.Name)
	if s == nil || s.isAttached() || s.key != other {
		return false
	}
	if s.isDisabled() {
		return true
	}
	about, said := s.plugin.Description()
	return !said || slices.ContainsFunc(about.Tools, func(d tool.Definition) bool { return d.Name == name })
}
