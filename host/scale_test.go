package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// multitude is a provider of many tools that checks them itself, as a fleet does.
type multitude struct {
	all     atomic.Pointer[[]*checked.Definition]
	changes chan struct{}
}

// newMultitude returns a provider of n tools with 3 to 6 arguments each.
func newMultitude(t testing.TB, n int) *multitude {
	t.Helper()
	m := &multitude{changes: make(chan struct{}, 1)}
	all := make([]*checked.Definition, n)
	for i := range all {
		all[i] = oneOfMany(t, i, "")
	}
	m.set(all)
	return m
}

func oneOfMany(t testing.TB, i int, version string) *checked.Definition {
	t.Helper()
	var args strings.Builder
	for a := range 3 + i%4 {
		fmt.Fprintf(&args, `"argument%d":{"type":"string","description":"What tool %d does with it.","maxLength":%d},`, a, i, 100+a)
	}
	description := fmt.Sprintf("Tool %d of many%s.", i, version)
	d := require.Must(checked.New(tool.Definition{
		Name: fmt.Sprintf("group%03d.tool%06d", i%100, i), Description: description + strings.Repeat("x", max(0, 120-len(description))),
		Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object","properties":{` + strings.TrimSuffix(args.String(), ",") + `},"required":["argument0"]}`),
	}, nil))(t)
	return d
}

func (m *multitude) set(all []*checked.Definition) {
	slices.SortFunc(all, func(a, b *checked.Definition) int { return strings.Compare(a.Get().Name, b.Get().Name) })
	m.all.Store(&all)
}

func (m *multitude) ListChecked(context.Context) ([]*checked.Definition, error) {
	return *m.all.Load(), nil
}

func (m *multitude) List(context.Context) ([]tool.Definition, error) {
	all := *m.all.Load()
	out := make([]tool.Definition, len(all))
	for i, d := range all {
		out[i] = d.Get().Clone()
	}
	return out, nil
}

func (m *multitude) Execute(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Text(call.Name), nil
}
func (m *multitude) Changes() <-chan struct{}    { return m.changes }
func (m *multitude) Close(context.Context) error { return nil }

// inUse returns the bytes of the heap that are in use.
func inUse() int {
	runtime.GC()
	runtime.GC() // what the first found to be garbage is swept
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc) //nolint:gosec // far below
}

func search(t testing.TB, h *host.Host) {
	t.Helper()
	s := h.Session(host.WithToolSearch(true))
	res, err := s.Execute(t.Context(), tool.Call{Name: host.SearchTool, Arguments: json.RawMessage(`{"query":"argument"}`)})
	if err != nil || !strings.Contains(res.Text(), "group") {
		t.Fatal(res, err)
	}
}

// What a host keeps of tools that are attached and not called is little, whatever their number.
func TestManyToolsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // others' allocations would count
	const most, mostOfIndex = 1024, 2048 // bytes a tool; both together below 4 KiB
	tools := 20_000
	if testing.Short() {
		tools = 1000 // with the race detector, 20,000 take 50 s of processors
	}
	h := newHost(t)
	m := newMultitude(t, tools)
	before := inUse()
	if n, err := h.Attach(t.Context(), "many", m); n != tools || err != nil {
		t.Fatal(n, err)
	}
	registry := inUse()
	search(t, h)
	index := inUse()
	t.Logf("%d bytes a tool, and %d of the search index", (registry-before)/tools, (index-registry)/tools)
	if a := (registry - before) / tools; a > most {
		t.Errorf("%d bytes a tool, want at most %d", a, most)
	}
	if a := (index - registry) / tools; a > mostOfIndex {
		t.Errorf("the index has %d bytes a tool, want at most %d", a, mostOfIndex)
	}
	runtime.KeepAlive(m)
}

// A refresh publishes what has changed, and nothing else is made again.
func TestRefreshOfManyTools(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), newMultitude(t, 100)
	require.Must(h.Attach(t.Context(), "many", m))(t)
	before := h.Tools(host.Filter{})
	changes := h.Changes()
	next := slices.Clone(*m.all.Load())[1:]
	changed := oneOfMany(t, 50, " after a change")
	next = slices.DeleteFunc(next, func(d *checked.Definition) bool { return d.Get().Name == changed.Get().Name })
	m.set(append(next, changed, oneOfMany(t, 100, "")))
	m.changes <- struct{}{}
	<-changes
	if _, there := h.Get(before[0].Name); there || h.Len() != 100 {
		t.Errorf("%d tools; %s is there: %v", h.Len(), before[0].Name, there)
	}
	if got, _ := h.Get(changed.Get().Name); got.Description != changed.Get().Description {
		t.Errorf("description %q", got.Description)
	}
	for _, name := range h.Names() {
		if out := h.Call(t.Context(), tool.Call{Name: name, Arguments: json.RawMessage(`{"argument0":"a"}`)}); out.Content != name {
			t.Errorf("%s: %s", name, out.Content)
		}
		if out := h.Call(t.Context(), tool.Call{Name: name}); out.Success {
			t.Errorf("%s runs without its argument", name)
		}
	}
}

// BenchmarkAttachMany is the first listing of many tools, which their provider has checked.
// TOOLHOST_BENCH_TOOLS sets their number.
func BenchmarkAttachMany(b *testing.B) {
	m := manyOnce(b)
	b.ReportAllocs()
	for b.Loop() {
		h := require.Must(host.New(host.WithRoot(b.TempDir())))(b)
		require.Must(h.Attach(b.Context(), "many", m))(b)
		b.StopTimer()
		_ = h.Close(b.Context())
		b.StartTimer()
	}
}

// BenchmarkRefreshMany is a listing in which one of many tools has changed, one was added and one
// removed.
func BenchmarkRefreshMany(b *testing.B) {
	m := manyOnce(b)
	n := len(*m.all.Load())
	h := require.Must(host.New(host.WithRoot(b.TempDir())))(b)
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	before := inUse()
	require.Must(h.Attach(b.Context(), "many", m))(b)
	size := (inUse() - before) / n
	changes := h.Changes()
	all := *m.all.Load()
	two := [2][]*checked.Definition{}
	for i := range two {
		next := slices.Clone(all)
		d := *next[n/2].Get()
		d.Description = fmt.Sprint("It has changed in turn ", i)
		changed := require.Must(checked.New(d, nil))(b)
		next[n/2], next[n/3] = changed, oneOfMany(b, n+i, "")
		m.set(next)
		two[i] = *m.all.Load()
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.all.Store(&two[i%2])
		m.changes <- struct{}{}
		<-changes
		i++
	}
	b.ReportMetric(float64(size), "B/tool")
}

// theMany are made once, as that takes longer than what is measured.
var theMany []*checked.Definition

func manyOnce(b *testing.B) *multitude {
	b.Helper()
	if theMany == nil {
		n := 10_000
		if text := os.Getenv("TOOLHOST_BENCH_TOOLS"); text != "" {
			require.Must(fmt.Sscan(text, &n))(b)
		}
		theMany = *newMultitude(b, n).all.Load()
	}
	m := &multitude{changes: make(chan struct{}, 1)}
	m.set(slices.Clone(theMany))
	return m
}
