package host

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync/atomic"
)

// tableShards is how many parts a table has: an edit of one of 100,000 tools copies a part of 200, and the list of parts.
const tableShards = 512

var tableSeed = maphash.MakeSeed()

// table finds entries by a name. It never changes: an edit makes another, which shares the parts that are the same.
// The zero value is empty.
type table []map[string]*entry

func shardOf(name string) uint64 { return maphash.String(tableSeed, name) % tableShards }

// get returns the entry of a name; nil: there is none.
func (t table) get(name string) *entry {
	if t == nil {
		return nil
	}
	return t[shardOf(name)][name]
}

// edit returns a copy that may be changed until it is published.
func (t table) edit() *tableEdit {
	e := &tableEdit{table: make(table, tableShards)}
	copy(e.table, t)
	return e
}

// tableEdit is a table that is not published yet.
type tableEdit struct {
	table

	own [tableShards]bool // the parts that no other table has
}

func (t *tableEdit) put(name string, e *entry) { t.shard(name)[name] = e }
func (t *tableEdit) remove(name string)        { delete(t.shard(name), name) }

func (t *tableEdit) shard(name string) map[string]*entry {
	i := shardOf(name)
	switch {
	case t.own[i]:
	case t.table[i] == nil:
		t.table[i] = map[string]*entry{}
	default:
		t.table[i] = maps.Clone(t.table[i])
	}
	t.own[i] = true
	return t.table[i]
}

// order is the entries of a table, sorted by name by its first reader: a program that registers ten thousand tools
// one by one does not sort them each time.
type order struct {
	byName table
	from   *lists   // of an earlier table
	since  []string // the names whose entries may be others
	made   atomic.Pointer[lists]
}

// lists are the entries of a table, sorted by name.
type lists struct {
	sorted []*entry
	listed []*entry // those that are not disabled
}

// leastSince is how many changed names are kept at least before an order is made.
const leastSince = 1024

// next returns the order of a table that differs from the one before in the entries of some names. It is called once
// for each order that is published, as the names are added to the same array.
func (o *order) next(byName table, names []string) *order {
	if o == nil {
		return &order{byName: byName, since: names}
	}
	if o.made.Load() == nil && len(o.since) > max(leastSince, len(o.earlier().sorted)) {
		o.lists() // or the names would grow for ever
	}
	if made := o.made.Load(); made != nil {
		return &order{byName: byName, from: made, since: names}
	}
	return &order{byName: byName, from: o.from, since: append(o.since, names...)}
}

func (o *order) earlier() *lists {
	if o.from == nil {
		return &lists{}
	}
	return o.from
}

func (o *order) lists() *lists {
	if o == nil {
		return &lists{}
	}
	if made := o.made.Load(); made != nil {
		return made
	}
	names, from := distinct(o.since), o.earlier().sorted
	made := &lists{sorted: make([]*entry, 0, len(from)+len(names))}
	some := len(o.earlier().listed) < len(from) // are disabled, perhaps
	for _, name := range names {
		i, there := slices.BinarySearchFunc(from, name, (*entry).compare)
		made.sorted = append(made.sorted, from[:i]...)
		if there {
			i++
		}
		from = from[i:]
		if e := o.byName.get(name); e != nil {
			made.sorted = append(made.sorted, e)
			some = some || e.disabled()
		}
	}
	made.sorted = append(made.sorted, from...)
	if made.listed = made.sorted; some {
		made.listed = slices.DeleteFunc(slices.Clone(made.sorted), (*entry).disabled)
	}
	o.made.CompareAndSwap(nil, made)
	return o.made.Load()
}

// distinct returns the names sorted, each once.
func distinct(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}
