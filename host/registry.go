package host

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/internal/search"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// snapshot is the registry at one moment. Readers take no lock: writers replace
// it whole. Tools that the operator has disabled are in it too, to keep their names.
type snapshot struct {
	byName  table
	byAlias table
	order   *order
	chosen  choices
	index   func() *search.Index // of listed; made by the first search
}

// sorted returns all entries, sorted by name, and listed those that are not disabled.
func (s *snapshot) sorted() []*entry { return s.order.lists().sorted }
func (s *snapshot) listed() []*entry { return s.order.lists().listed }

// listedAs returns the entry of a name; nil: there is none, or it is disabled.
func (s *snapshot) listedAs(name string) *entry {
	if e := s.byName.get(name); e != nil && !e.disabled() {
		return e
	}
	return nil
}

// registry is the tools of a host.
type registry struct {
	snap    atomic.Pointer[snapshot]
	current func(*entry) (*entry, error) // brings an entry in line with the overrides of the moment
	mu      sync.Mutex                   // writers'

	events      *events                // told of changes; nil: there are no hooks
	subscribers map[chan struct{}]bool // of Changes; guarded by mu
	closed      bool                   // there are no changes any more; guarded by mu
}

func (r *registry) read() *snapshot {
	if s := r.snap.Load(); s != nil {
		return s
	}
	return &snapshot{}
}

// find returns the tool that a call by that name runs; nil: there is none, or it is
// disabled.
func (r *registry) find(name string) *entry {
	if e := r.lookup(name); e != nil && !e.disabled() {
		return e
	}
	return nil
}

// lookup finds a tool by its name, or else its alias. A name is never another tool's
// alias, so the order decides nothing.
func (r *registry) lookup(name string) *entry {
	s := r.read()
	if e := s.byName.get(name); e != nil {
		return e
	}
	return s.byAlias.get(name)
}

// add publishes a new tool.
func (r *registry) add(e *entry) error {
	return r.edit(func(t *tx) error {
		_, err := t.putOne(e)
		return err
	})
}

// replace publishes a tool in the place of the one that has its name, whoever owns it.
func (r *registry) replace(e *entry) error {
	return r.edit(func(t *tx) error {
		old := t.byName.get(e.def.Name)
		if old == nil {
			return tool.Errorf(tool.CodeNotFound, "%w: %s", tool.ErrNotFound, e.def.Name).
				Of(e.def.Name, "").At(callstage.Register).Try("Register adds a tool that is not there yet")
		}
		t.remove(old)
		_, err := t.putOne(e)
		return err
	})
}

// upsert publishes a tool, new or in the place of its owner's one, and returns its entry.
func (r *registry) upsert(e *entry) (out *entry, err error) {
	err = r.edit(func(t *tx) error {
		if old := t.byName.get(e.def.Name); old != nil && old.owner == e.owner {
			t.remove(old)
		}
		out, err = t.putOne(e)
		return err
	})
	return out, err
}

// remove takes a registered tool out.
func (r *registry) remove(name string) error {
	return r.edit(func(t *tx) error {
		e := t.holder(name)
		switch {
		case e == nil:
			return tool.Errorf(tool.CodeNotFound, "%w: %s", tool.ErrNotFound, shorten(name)).Of(name, "").At(callstage.Register)
		case !e.isRegistered():
			return tool.Errorf(tool.CodeInvalidArguments, "tool %s is of %s, which lists its tools itself", name, ownerName(e.owner)).
				Of(name, e.owner).At(callstage.Register).Try("disable it with an Override, or detach all of its owner's")
		}
		t.remove(e)
		return nil
	})
}

// revise changes something that entries depend on, and replaces the stale entries. If one
// cannot be replaced, change is undone, and nothing is published.
func (r *registry) revise(
	change func() (undo func()), stale func(*entry) bool, remake func(*entry) (*entry, error),
) error {
	return r.edit(func(t *tx) (err error) {
		undo := change()
		defer func() {
			if err != nil {
				undo()
			}
		}()
		var remade []*entry
		for _, old := range t.before.sorted() {
			if !stale(old) {
				continue
			}
			e, err := remake(old)
			if err != nil {
				return err
			}
			t.remove(old)
			remade = append(remade, e)
		}
		if _, faults := t.put(remade); len(faults) > 0 {
			name := tool.AsError(faults[0]).Tool
			i := slices.IndexFunc(remade, func(e *entry) bool { return e.def.Name == name })
			return fmt.Errorf("tool %s cannot be renamed: %w", remade[i].source.Name, faults[0])
		}
		return nil
	})
}

// Put implements [roster.Registry].
func (r *registry) Put(sets []roster.Set) []roster.Result {
	out := make([]roster.Result, len(sets))
	_ = r.edit(func(t *tx) error {
		had := make(map[string][]*entry, len(sets))
		for _, set := range sets {
			had[set.Owner] = make([]*entry, 0, len(set.Entries))
		}
		for all := t.before.sorted(); len(all) > 0; {
			owner, n := all[0].owner, 1
			for n < len(all) && all[n].owner == owner {
				n++
			}
			if theirs, put := had[owner]; put {
				had[owner] = append(theirs, all[:n]...)
			}
			all = all[n:]
		}
		for i, set := range sets {
			out[i] = t.exchange(had[set.Owner], set)
		}
		return nil
	})
	return out
}

// Drop implements [roster.Registry].
func (r *registry) Drop(owner string) { r.Put([]roster.Set{{Owner: owner}}) }

// edit publishes what f makes of a transaction, or nothing if f fails.
func (r *registry) edit(f func(*tx) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.read()
	t := begin(before, r.current)
	if err := f(t); err != nil {
		return err
	}
	after := t.snapshot()
	r.snap.Store(after)
	r.announce(before, after, t.names)
	return nil
}
