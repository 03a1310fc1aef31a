package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// WithNames remembers in a file, from one host to the next, which plugin has which names
// of tools: a file that is put beside plugins takes none of theirs, however early in the
// alphabet it comes. A plugin keeps its names as long as its file is in its directory and
// it serves them, and where it is disabled or does not start, too. Default: none, and
// names that are free at the start of a host go to the first, see [Host.Load].
func WithNames(path string) Option {
	return func(o *options) { o.names = path }
}

// tenures are the names of tools, as plugins call them, by plugin and its directory.
type tenures map[string]map[string][]string

// holder is a plugin of a directory.
type holder struct{ dir, plugin string }

// nameBook knows who has had the names so far.
type nameBook struct {
	file state.File[tenures]

	mu      sync.Mutex
	known   tenures
	holders map[string][]holder // by name
}

// openNames reads the book. One that cannot be read is not written to either.
func openNames(path string) (*nameBook, error) {
	b := &nameBook{file: state.File[tenures]{Path: path}}
	known, err := b.file.Read()
	if err != nil {
		return nil, fmt.Errorf("which plugin has which names is not known: %w", err)
	}
	b.turnTo(known)
	return b, nil
}

// turnTo goes by what is known now. The caller holds mu, if anybody else has the book.
func (b *nameBook) turnTo(known tenures) {
	b.known, b.holders = known, map[string][]holder{}
	for _, dir := range slices.Sorted(maps.Keys(known)) {
		for _, plugin := range slices.Sorted(maps.Keys(known[dir])) {
			for _, name := range known[dir][plugin] {
				b.holders[name] = append(b.holders[name], holder{dir, plugin})
			}
		}
	}
}

// others are those who have a name, without one of them who has it too.
func (b *nameBook) others(name string, but holder) []holder {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.holders[name]
	if slices.Contains(all, but) {
		return nil
	}
	return all
}

// write notes what plugins have now. Plugins of their directories of which none is there
// any more are forgotten.
func (b *nameBook) write(now map[holder][]string, there map[holder]bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	change := func(known *tenures) {
		if *known == nil {
			*known = tenures{}
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
	return b.file.Update(func(known *tenures) error {
		change(known)
		b.turnTo(maps.Clone(*known))
		return nil
	})
}

// whose is a source as the book has it; false: it is not in it.
func (s source) whose() (holder, bool) {
	return holder{filepath.Dir(s.path), s.owner}, s.path != ""
}

// free leaves out tools whose names another plugin has had before, as long as that is
// there and has not given them up.
func (h *Host) free(s source, entries []*entry) ([]*entry, error) {
	me, ok := s.whose()
	if h.names == nil || !ok {
		return entries, nil
	}
	var taken []error
	kept := entries[:0:len(entries)]
	for _, e := range entries {
		i := slices.IndexFunc(h.names.others(e.source.Name, me), func(other holder) bool { return h.keeps(other, e.source.Name) })
		if i < 0 {
			kept = append(kept, e)
			continue
		}
		other := h.names.others(e.source.Name, me)[i]
		taken = append(taken, &tool.Error{
			Code: tool.CodeAlreadyExists, Tool: e.def.Name, Plugin: e.owner, Stage: tool.StageRegister, Err: tool.ErrAlreadyExists,
			Message: fmt.Sprintf("%v: %s is a tool that plugin %s had before plugin %s came", tool.ErrAlreadyExists, e.def.Name, other.plugin, e.owner),
			Hint:    fmt.Sprintf("rename one of the two, or remove the file of %s if its tools are to go to %s", other.plugin, e.owner),
		})
	}
	return kept, errors.Join(taken...)
}

// keeps reports whether a plugin that had a name is there and may serve it still: only
// one that says what it serves gives a name up.
func (h *Host) keeps(other holder, name string) bool {
	s, there := h.current(other.plugin)
	if who, ok := s.whose(); !there || !ok || who != other {
		return false
	}
	if s.plugin == nil {
		return true
	}
	about, said := s.plugin.Description()
	return !said || slices.ContainsFunc(about.Tools, func(d tool.Definition) bool { return d.Name == name })
}

// noteNames remembers what plugins have whose tools have just been registered.
func (h *Host) noteNames(sources ...source) {
	if h.names == nil {
		return
	}
	now, there := map[holder][]string{}, map[holder]bool{}
	for _, s := range sources {
		if me, ok := s.whose(); ok {
			now[me] = nil
		}
	}
	h.mu.Lock()
	for _, s := range h.sources {
		if one, ok := s.whose(); ok {
			there[one] = true
		}
	}
	h.mu.Unlock()
	dirs := map[string]string{} // by owner
	for me := range now {
		dirs[me.plugin] = me.dir
	}
	for _, e := range h.registry.read().sorted {
		if dir, ok := dirs[e.owner]; ok {
			me := holder{dir, e.owner}
			now[me] = append(now[me], e.source.Name)
		}
	}
	for _, names := range now {
		slices.SortFunc(names, cmp.Compare[string])
	}
	if err := h.names.write(now, there); err != nil {
		h.opts.logger.Warn("which plugin has which names is not remembered", "error", err)
	}
}
