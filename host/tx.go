package host

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/internal/search"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// tx is a transaction: a copy of the registry that is edited, and then published.
type tx struct {
	before  *snapshot
	byName  *tableEdit
	byAlias *tableEdit
	names   []string                     // whose entries may be others than before
	current func(*entry) (*entry, error) // see registry
}

func begin(before *snapshot, current func(*entry) (*entry, error)) *tx {
	return &tx{before: before, byName: before.byName.edit(), byAlias: before.byAlias.edit(), current: current}
}

func (t *tx) snapshot() *snapshot {
	s := &snapshot{byName: t.byName.table, byAlias: t.byAlias.table, order: t.before.order.next(t.byName.table, t.names)}
	s.index = sync.OnceValue(func() *search.Index { return indexOf(s.listed()) })
	return s
}

func (t *tx) remove(e *entry) {
	t.names = append(t.names, e.def.Name)
	t.byName.remove(e.def.Name)
	t.byAlias.remove(e.alias)
}

// publish makes an entry the one of its name and alias.
func (t *tx) publish(e *entry) {
	t.names = append(t.names, e.def.Name)
	t.byName.put(e.def.Name, e)
	t.byAlias.put(e.alias, e)
}

// exchange puts what a set has in the place of what its owner has, sorted by name. There may be a hundred thousand entries,
// nearly all of which stay.
func (t *tx) exchange(had []*entry, set roster.Set) roster.Result {
	stays, next := make([]bool, len(had)), 0
	var fresh []*entry
	for _, one := range set.Entries {
		e := one.(*entry) //nolint:forcetypeassert // the compiler made it
		i, there := next, next < len(had) && had[next] == e
		if !there {
			i, there = slices.BinarySearchFunc(had, e.def.Name, (*entry).compare)
			there = there && had[i] == e
		}
		if there {
			stays[i], next = true, i+1
		} else {
			fresh = append(fresh, e)
		}
	}
	var gone []*entry
	for i, e := range had {
		if !stays[i] && t.byName.get(e.def.Name) == e {
			t.remove(e)
			gone = append(gone, e)
		}
	}
	added, faults := t.put(fresh)
	out := roster.Result{Entries: set.Entries, Err: errors.Join(faults...)}
	if len(added) < len(fresh) {
		out.Entries = nil
		for i, e := range had {
			if stays[i] {
				out.Entries = append(out.Entries, e)
			}
		}
		for _, e := range added {
			out.Entries = append(out.Entries, e)
		}
	}
	out.Added, out.Removed = without(added, gone), without(gone, added)
	return out
}

// without returns, sorted, the names that owners gave to entries and not to others.
func without(entries, others []*entry) (names []string) {
	theirs := map[string]bool{}
	for _, e := range others {
		theirs[e.source.Name] = true
	}
	for _, e := range entries {
		if !theirs[e.source.Name] {
			names = append(names, e.source.Name)
		}
	}
	slices.Sort(names)
	return names
}

// putOne is put for one entry.
func (t *tx) putOne(e *entry) (*entry, error) {
	added, faults := t.put([]*entry{e})
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return added[0], nil
}

// put adds entries and gives them aliases. It returns those that it added, and an error
// for each whose name is taken, or which the overrides of the moment do not fit. A tool
// that was there before keeps its alias, as models may have been told of it, whatever else
// is added.
func (t *tx) put(entries []*entry) (added []*entry, faults []error) {
	var fresh []*entry
	for _, e := range entries {
		e, err := t.current(e)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		alias, known := t.formerAlias(e.def.Name)
		if !known {
			fresh = append(fresh, e)
			continue
		}
		e = e.withAlias(alias)
		t.publish(e)
		added = append(added, e)
	}
	named := fresh[:0]
	for _, e := range fresh {
		if there := t.holder(e.def.Name); there != nil {
			faults = append(faults, takenError(e, there))
			continue
		}
		t.byName.put(e.def.Name, e)
		named = append(named, e)
	}
	for i, e := range sortEntries(named) {
		e = e.withAlias(llmschema.Alias(e.def.Name, func(alias string) bool {
			return reserved[alias] || t.byAlias.get(alias) != nil || t.byName.get(alias) != nil && alias != e.def.Name
		}))
		named[i] = e
		t.publish(e)
	}
	return append(added, named...), faults
}

// formerAlias returns the alias of a tool that the transaction has removed, if it can come
// back as it was.
func (t *tx) formerAlias(name string) (alias string, ok bool) {
	old := t.before.byName.get(name)
	if old == nil || t.holder(name) != nil || t.byAlias.get(old.alias) != nil {
		return "", false
	}
	return old.alias, old.alias == name || t.byName.get(old.alias) == nil
}

// holder returns the tool that has a name, as a name or as an alias; nil: it is free.
func (t *tx) holder(name string) *entry {
	if there := t.byAlias.get(name); there != nil {
		return there
	}
	return t.byName.get(name)
}

func takenError(e, there *entry) error {
	hint := "rename one, or use Replace to exchange it"
	if e.owner != "" || there.def.Name != e.def.Name {
		hint = "rename one of the two; the first stays"
	}
	msg := fmt.Sprintf("%v: %s, by %s", tool.ErrAlreadyExists, e.def.Name, ownerName(there.owner))
	if there.def.Name != e.def.Name {
		msg = fmt.Sprintf("%v: %s is the name under which models call %s, by %s",
			tool.ErrAlreadyExists, e.def.Name, there.def.Name, ownerName(there.owner))
	}
	return tool.Errorf(tool.CodeAlreadyExists, "%s", msg).Of(e.def.Name, e.owner).At(callstage.Register).
		Because(&roster.TakenError{Name: e.def.Name, Owner: there.owner}).Try(hint)
}

func ownerName(owner string) string {
	if owner == "" {
		return "this program"
	}
	return "plugin " + owner
}
