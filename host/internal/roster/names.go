package roster

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// claims are the names of tools, as plugins call them, by directory and plugin.
type claims map[string]map[string][]string

// holder is a plugin of a directory.
type holder struct{ dir, plugin string }

// nameBook knows which plugins have had the names so far.
type nameBook struct {
	file state.File[claims]

	mu      sync.Mutex
	known   claims
	holders map[string][]holder // by name
}

// openNames reads the book. One that cannot be read is not written to either.
func openNames(path string) (*nameBook, error) {
	b := &nameBook{file: state.File[claims]{Path: path}}
	known, err := b.file.Read()
	if err != nil {
		return nil, fmt.Errorf("which plugin has which names is not known: %w", err)
	}
	b.set(known)
	return b, nil
}

// set replaces what is known. The caller holds mu, unless nothing else has the book yet.
func (b *nameBook) set(known claims) {
	b.known, b.holders = known, map[string][]holder{}
	for _, dir := range slices.Sorted(maps.Keys(known)) {
		for _, plugin := range slices.Sorted(maps.Keys(known[dir])) {
			for _, name := range known[dir][plugin] {
				b.holders[name] = append(b.holders[name], holder{dir, plugin})
			}
		}
	}
}

// others returns the holders of a name; none if but is one of them.
func (b *nameBook) others(name string, but holder) []holder {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.holders[name]
	if slices.Contains(all, but) {
		return nil
	}
	return all
}

// holds reports whether a plugin has had a name.
func (b *nameBook) holds(h holder, name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.holders[name], h)
}

// write records what plugins have now. It forgets the plugins of their directories that
// are not there any more.
func (b *nameBook) write(now map[holder][]string, there map[holder]bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	change := func(known *claims) {
		if *known == nil {
			*known = claims{}
		}
		for h, names := range now {
			of := maps.Clone((*known)[h.dir])
			if of == nil {
				of = map[string][]string{}
			}
			maps.DeleteFunc(of, func(plugin string, _ []string) bool { return !there[holder{h.dir, plugin}] })
			delete(of, h.plugin)
			if len(names) > 0 {
				of[h.plugin] = names
			}
			if (*known)[h.dir] = of; len(of) == 0 {
				delete(*known, h.dir)
			}
		}
	}
	next := maps.Clone(b.known)
	if change(&next); reflect.DeepEqual(next, b.known) || len(next)+len(b.known) == 0 {
		return nil
	}
	return b.file.Update(func(known *claims) error {
		change(known)
		b.set(maps.Clone(*known))
		return nil
	})
}

// holder returns the source as the book has it; false: it is not in the book.
func (s *source) holder() (holder, bool) {
	return holder{s.place(), s.member.owner}, !s.isAttached()
}

// place is the directory of a plugin as the book has it. Servers have one that is not a path.
func (s *source) place() string {
	if s.server != nil {
		return "servers"
	}
	return s.dir()
}

// withoutReserved leaves out tools whose names another plugin has had before, as long as
// that plugin is there and has not given them up.
func (r *Roster) withoutReserved(s *source, entries []Entry) ([]Entry, error) {
	me, ok := s.holder()
	if r.names == nil || !ok {
		return entries, nil
	}
	var taken []error
	if entries == nil {
		return nil, nil
	}
	kept := make([]Entry, 0, len(entries))
	for _, e := range entries {
		others := r.names.others(e.ClaimedName(), me)
		i := slices.IndexFunc(others, func(other holder) bool { return r.keeps(other, e.ClaimedName()) })
		if i < 0 {
			kept = append(kept, e)
			continue
		}
		taken = append(taken, nameReserved(e, me.plugin, others[i].plugin))
	}
	return kept, errors.Join(taken...)
}

func nameReserved(e Entry, owner, by string) error {
	return &tool.Error{
		Code: tool.CodeAlreadyExists, Tool: e.Name(), Plugin: owner, Stage: tool.StageRegister,
		Err: &TakenError{e.Name(), by},
		Message: fmt.Sprintf(
			"%v: %s is a tool that plugin %s had before plugin %s was added", tool.ErrAlreadyExists, e.Name(), by, owner),
		Hint: fmt.Sprintf("rename one of the two, or remove the file of %s if its tools are to go to %s", by, owner),
	}
}

// keeps reports whether a plugin that had a name is there and may still serve it: only a
// plugin that says what it serves gives a name up.
func (r *Roster) keeps(other holder, name string) bool {
	r.mu.Lock()
	var s *source
	if m := r.members[other.plugin]; m != nil {
		s = m.source
	}
	r.mu.Unlock()
	if s == nil || s.isAttached() || s.place() != other.dir {
		return false
	}
	if s.isDisabled() {
		return true
	}
	about, said := s.plugin.Description()
	return !said || slices.ContainsFunc(about.Tools, func(d tool.Definition) bool { return d.Name == name })
}

// rememberNames remembers what plugins have whose tools have just been registered.
func (r *Roster) rememberNames(registered map[*source][]string) {
	if r.names == nil || len(registered) == 0 {
		return
	}
	now, there := map[holder][]string{}, map[holder]bool{}
	for s, names := range registered {
		if me, ok := s.holder(); ok {
			now[me] = slices.Sorted(slices.Values(names))
		}
	}
	for _, s := range r.sources() {
		if one, ok := s.holder(); ok {
			there[one] = true
		}
	}
	if err := r.names.write(now, there); err != nil {
		r.log.Warn("which plugin has which names is not remembered", "error", err)
	}
}
