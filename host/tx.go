package host

import (
	"fmt"
	"maps"

	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// tx is a transaction: a copy of the registry that is edited, and then published.
type tx struct {
	before  *snapshot
	byName  map[string]*entry
	byAlias map[string]*entry
	added   []*entry
	current func(*entry) (*entry, error) // see registry
}

func begin(before *snapshot, current func(*entry) (*entry, error)) *tx {
	t := &tx{before: before, byName: maps.Clone(before.byName), byAlias: maps.Clone(before.byAlias), current: current}
	if t.byName == nil {
		t.byName, t.byAlias = map[string]*entry{}, map[string]*entry{}
	}
	return t
}

func (t *tx) snapshot() *snapshot {
	sorted := make([]*entry, 0, len(t.byName))
	for _, e := range t.before.sorted { // most stay, in their order
		if t.byName[e.def.Name] == e {
			sorted = append(sorted, e)
		}
	}
	for _, e := range t.added {
		if t.byName[e.def.Name] == e && t.before.byName[e.def.Name] != e {
			sorted = append(sorted, e)
		}
	}
	return newSnapshot(t.byName, t.byAlias, sortEntries(sorted))
}

func (t *tx) remove(e *entry) {
	delete(t.byName, e.def.Name)
	delete(t.byAlias, e.alias)
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
		t.byName[e.def.Name], t.byAlias[alias] = e, e
		added = append(added, e)
	}
	named := fresh[:0]
	for _, e := range fresh {
		if there := t.holder(e.def.Name); there != nil {
			faults = append(faults, takenError(e, there))
			continue
		}
		t.byName[e.def.Name] = e
		named = append(named, e)
	}
	for i, e := range sortEntries(named) {
		e = e.withAlias(llmschema.Alias(e.def.Name, func(alias string) bool {
			return reserved[alias] || t.byAlias[alias] != nil || t.byName[alias] != nil && alias != e.def.Name
		}))
		named[i], t.byName[e.def.Name], t.byAlias[e.alias] = e, e, e
	}
	added = append(added, named...)
	t.added = append(t.added, added...)
	return added, faults
}

// formerAlias returns the alias of a tool that the transaction has removed, if it can come
// back as it was.
func (t *tx) formerAlias(name string) (alias string, ok bool) {
	old := t.before.byName[name]
	if old == nil || t.holder(name) != nil || t.byAlias[old.alias] != nil {
		return "", false
	}
	return old.alias, old.alias == name || t.byName[old.alias] == nil
}

// holder returns the tool that has a name, as a name or as an alias; nil: it is free.
func (t *tx) holder(name string) *entry {
	if there := t.byAlias[name]; there != nil {
		return there
	}
	return t.byName[name]
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
