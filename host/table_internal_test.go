package host

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A table and its order are what edits made of them, whenever they are read, and what was published stays as it was.
func TestTable(t *testing.T) {
	t.Parallel()
	type published struct {
		s    *snapshot
		want map[string]*entry
	}
	var all []published
	now, want := &snapshot{}, map[string]*entry{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		to := begin(now, func(e *entry) (*entry, error) { return e, nil })
		for range 1 + random.IntN(5) {
			name := fmt.Sprintf("tool%d", random.IntN(2*leastSince))
			if old := to.byName.get(name); old != nil && random.IntN(3) > 0 {
				to.remove(old)
				delete(want, name)
			}
			if to.byName.get(name) == nil {
				e := &entry{def: &tool.Definition{Name: name}, override: &Override{Disabled: random.IntN(4) == 0}}
				require.Must(to.putOne(e))(t)
				want[name] = e
			}
		}
		now = to.snapshot()
		if random.IntN(500) == 0 { // others are first read when there are many after them
			now.listed()
		}
		if len(all) == 0 || random.IntN(100) == 0 {
			all = append(all, published{now, maps.Clone(want)})
		}
	}
	for i, p := range all {
		names := slices.Sorted(maps.Keys(p.want))
		sorted, listed := p.s.sorted(), 0
		if len(sorted) != len(names) {
			t.Fatalf("snapshot %d has %d entries in order, want %d", i, len(sorted), len(names))
		}
		for j, name := range names {
			e := p.want[name]
			if sorted[j] != e || p.s.byName.get(name) != e || p.s.byAlias.get(name) != e {
				t.Fatalf("snapshot %d has another entry of %s", i, name)
			}
			if !e.disabled() {
				if p.s.listed()[listed] != e {
					t.Fatalf("snapshot %d does not list %s", i, name)
				}
				listed++
			}
		}
		if len(p.s.listed()) != listed || p.s.byName.get("none") != nil {
			t.Errorf("snapshot %d lists %d entries, want %d", i, len(p.s.listed()), listed)
		}
	}
}

// What an edit of one tool allocates does not grow with their number.
func TestEditOfOneOfMany(t *testing.T) { //nolint:paralleltest // others' allocations would count
	keep := func(e *entry) (*entry, error) { return e, nil }
	bytes := func(n int) uint64 {
		put := func(to *tx, e *entry) {
			require.Must(to.putOne(e))(t)
		}
		to := begin(&snapshot{}, keep)
		for i := range n {
			put(to, &entry{def: &tool.Definition{Name: fmt.Sprintf("tool%d", i)}, override: &noOverride})
		}
		now := to.snapshot()
		now.listed()
		e := now.byName.get("tool7")
		const edits = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range edits {
			to := begin(now, keep)
			to.remove(e)
			put(to, e)
			to.snapshot()
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / edits
	}
	if few, many := bytes(1000), bytes(50_000); many > 4*few { // a copy of all would be 50 times as large
		t.Errorf("an edit of one of 50,000 tools allocates %d bytes, of one of 1,000 %d", many, few)
	}
}

// Definitions are equal if all of their fields are.
func TestSameDefinition(t *testing.T) {
	t.Parallel()
	full := func() *tool.Definition {
		return &tool.Definition{
			Name: "n", Alias: "a", Title: "t", Description: "d", InputSchema: tool.Schema(`{}`), OutputSchema: tool.Schema(`{}`), Safety: tool.Safe,
			Categories: []string{"c"}, Permission: "p", Idempotent: true, MaxRetries: 1, Timeout: 1, RateLimit: &tool.RateLimit{Calls: 1, Period: 1},
			Sensitive: []string{"s"}, Icons: []byte(`[]`), Meta: []byte(`{}`),
		}
	}
	if !sameDefinition(full(), full()) {
		t.Error("equal definitions differ")
	}
	for i := range reflect.TypeFor[tool.Definition]().NumField() {
		other := full()
		field := reflect.ValueOf(other).Elem().Field(i)
		if field.IsZero() {
			t.Fatalf("the test does not set field %d", i)
		}
		field.SetZero()
		if sameDefinition(full(), other) || sameDefinition(other, full()) {
			t.Errorf("field %s is not compared", reflect.TypeFor[tool.Definition]().Field(i).Name)
		}
	}
	other := full()
	other.RateLimit.Calls = 2
	if sameDefinition(full(), other) {
		t.Error("rate limits are not compared")
	}
}
