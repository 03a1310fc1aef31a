package activity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// at is what a call is at.
type at struct{ phase atomic.Value }

func (a *at) Phase() string { return a.phase.Load().(string) }

func is(phase string) *at {
	a := &at{}
	a.phase.Store(phase)
	return a
}

func emptyHost(t *testing.T) *host.Host {
	t.Helper()
	h := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func none() int { return 0 }

// event is a call of a caller that began so long ago.
func event(id, by string, ago time.Duration, on *at) policy.Event {
	return policy.Event{Time: time.Now().Add(-ago), Call: tool.Call{ID: id, Name: "x.y"}, Caller: by, Running: on}
}

func over(e policy.Event, took time.Duration, err error) policy.Event {
	e.Duration, e.Err, e.Plugin, e.Running = took, err, "x", nil
	return e
}

// Each of those who look gets each call once, in its own time, and the first time what was before.
func TestWatches(t *testing.T) {
	t.Parallel()
	m, h := New(), emptyHost(t)
	m.End(over(event("0", "a", 0, nil), time.Second, nil))
	slow, fast := m.Watch(h, none), m.Watch(h, none)
	defer slow.Close()
	equal := func(what string, got, want int64) {
		t.Helper()
		assert.Equalf(t, got, want, "%s", what)
	}
	equal("those before", fast.Next().GetCallers()[0].GetEnded(), 1)
	for i := range 4 {
		e := event(fmt.Sprint(i), "a", 0, is("ran"))
		m.Begin(e)
		if i == 3 {
			break
		}
		m.End(over(e, time.Duration(i)*time.Millisecond, map[bool]error{true: errors.New("failed")}[i == 0]))
		equal("one", fast.Next().GetCallers()[0].GetEnded(), 1)
	}
	fast.Close()
	all := slow.Next()
	equal("all", all.GetCallers()[0].GetEnded(), 4)
	equal("all failed", all.GetCallers()[0].GetFailed(), 1)
	equal("all running", int64(all.GetCallers()[0].GetRunning()), 1)
	m.Begin(event("waits", "a", 0, is("queued")))
	m.Begin(event("over", "a", 0, is("")))
	if got := m.Loads(); len(got) != 1 || got["a"] != (Load{1, 1}) {
		t.Errorf("the loads are %v", got)
	}
	equal("all told", int64(len(all.GetEnded())), 4)
	if first, second := all.GetEnded()[0], all.GetEnded()[1]; first.GetCode() == "" || second.GetTookNs() != int64(time.Second) {
		t.Errorf("the worst are %v and %v", first, second)
	}
	equal("the plugin's", all.GetPlugins()[0].GetEnded(), 4)
	equal("nothing new", int64(len(slow.Next().GetEnded())), 0)
	if len(m.watches) != 1 {
		t.Errorf("%d look", len(m.watches))
	}
}

// Calls of a hundred thousand callers, with texts of a stranger, leave no more than the bounds: names,
// calls whose end was not told, calls that all wait for a person.
func TestBounds(t *testing.T) {
	t.Parallel()
	m, h := New(), emptyHost(t)
	w := m.Watch(h, none)
	defer w.Close()
	hostile := "\x1b[2J\u202e<b>" + strings.Repeat("ü", 1<<16)
	for i := range 200_000 {
		e := event(fmt.Sprint(i), fmt.Sprintf("c%d%s", i%100_000, hostile[:9]), 0, is("asked"))
		e.Call.Name, e.Session = "x."+hostile[:20], hostile
		m.Begin(e)
		if i%2 == 0 {
			e = over(e, time.Duration(i), &tool.Error{Code: tool.CodeNotFound, Message: hostile})
			e.Plugin = fmt.Sprint("p", i%100_000)
			m.End(e)
		}
	}
	if len(m.callers) > maxNames+1 || len(m.plugins) > maxNames+1 || len(m.running) > maxKept || m.missed == 0 {
		t.Errorf("%d callers, %d plugins, %d calls, %d missed", len(m.callers), len(m.plugins), len(m.running), m.missed)
	}
	if loads := m.Loads(); len(loads) > maxKept {
		t.Errorf("%d callers have calls", len(loads))
	}
	a := w.Next()
	if len(a.GetRunning()) != maxRunning || a.GetRunningTotal() != maxKept || len(a.GetEnded()) != maxEnded ||
		len(a.GetCallers()) != maxCallers || len(a.GetPlugins()) > maxPlugins || a.GetEndedTotal() != 100_000 {
		t.Errorf("it tells %d of %d calls, %d ended, %d callers, %d plugins", len(a.GetRunning()), a.GetRunningTotal(), len(a.GetEnded()), len(a.GetCallers()), len(a.GetPlugins()))
	}
	if text := a.String(); strings.ContainsAny(text, "\x1b\u202e") || len(text) > 500_000 {
		t.Errorf("the text of %d bytes is not fit to be shown", len(text))
	}
	m.mu.Lock()
	for _, c := range m.running {
		c.at = is("") // they had ended
	}
	m.mu.Unlock()
	if a := w.Next(); a.GetRunningTotal() != 0 {
		t.Errorf("%d calls run that have ended", a.GetRunningTotal())
	}
	m.swept = -time.Hour
	if m.Begin(event("new", "a", 0, is("ran"))); len(m.running) != 1 {
		t.Errorf("%d calls are kept", len(m.running))
	}
}

// What may quote a secret is not told, to no one who looks: the tool has sensitive arguments, or is gone.
func TestConceals(t *testing.T) {
	t.Parallel()
	m, h := New(), emptyHost(t)
	for name, sensitive := range map[string][]string{"x.open": nil, "x.secret": {"password"}} {
		require.NoError(t, h.Register(tool.Tool{
			Definition: tool.Definition{Name: name, Description: "Does.", Sensitive: sensitive, InputSchema: []byte(`{"type":"object","properties":{"password":{"type":"string"}}}`)},
			Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil },
		}))
	}
	for _, w := range []*Watch{m.Watch(h, none), m.Watch(h, none)} {
		defer w.Close()
		for _, name := range []string{"x.open", "x.secret", "x.gone"} {
			e := over(event(name, "a", 0, nil), 1, errors.New("hunter2"))
			e.Call.Name = name
			m.End(e)
		}
		for _, c := range w.Next().GetEnded() {
			if shown := c.GetMessage() != ""; shown != (c.GetTool() == "x.open") {
				t.Errorf("%s: %q", c.GetTool(), c.GetMessage())
			}
		}
	}
}

// Calls that wait for a person are told first, however many others there are, and the age of each is by the
// monotonic clock.
func TestWhoWaits(t *testing.T) {
	t.Parallel()
	m, h := New(), emptyHost(t)
	for i := range 1000 {
		m.Begin(event(fmt.Sprint(i), "a", time.Hour, is("ran")))
	}
	asked := event("asked", "b", time.Minute, is("asked"))
	m.Begin(asked)
	w := m.Watch(h, none)
	defer w.Close()
	a := w.Next()
	at := slices.IndexFunc(a.GetRunning(), func(c *daemonv1.RunningCall) bool { return c.GetId() == "asked" })
	if at < 0 || len(a.GetRunning()) != maxRunning {
		t.Fatalf("the call is not among %d", len(a.GetRunning()))
	}
	if age := a.GetTime().AsTime().Sub(a.GetRunning()[at].GetBegun().AsTime()); age < time.Minute || age > 2*time.Minute {
		t.Errorf("it is %v old", age)
	}
}

// The durations are near those that were counted, those of a minute ago are forgotten, and seconds without calls
// are told as such.
func TestDurations(t *testing.T) {
	t.Parallel()
	var w window
	for i := range 1000 {
		w.add(0, time.Duration(i+1)*time.Millisecond)
	}
	for percent, want := range map[uint64]time.Duration{50: 500 * time.Millisecond, 99: 990 * time.Millisecond} {
		sum := w.sum(50 * time.Second)
		if got := time.Duration(sum.below(percent)); got < want*85/100 || got > want*115/100 {
			t.Errorf("%d of 100 take %v, want %v", percent, got, want)
		}
	}
	if sum := w.sum(2 * time.Minute); sum.below(50) != 0 {
		t.Error("nothing is forgotten")
	}
	for d := time.Duration(1); d < 2*time.Hour; d = d*5/4 + time.Microsecond {
		if middle := middleOf(bucketOf(d)); middle > d*5/4+time.Microsecond || middle < d*3/4-time.Microsecond {
			t.Errorf("%v counts as %v", d, middle)
		}
	}
	for _, d := range []time.Duration{-1, 1 << 62} {
		if b := bucketOf(d); b < 0 || b >= buckets {
			t.Errorf("%v is in bucket %d", d, b)
		}
	}
	m := New()
	m.start = time.Now().Add(-time.Hour)
	watch := m.Watch(emptyHost(t), none)
	defer watch.Close()
	e := event("1", "a", 3*time.Second, nil)
	m.End(over(e, 0, nil))
	seconds := watch.Next().GetLatency()
	if n := len(seconds); n != minute || seconds[n-3].GetEnded()+seconds[n-4].GetEnded() != 1 {
		t.Errorf("%d seconds: %v", n, seconds)
	}
}

// What a call costs the goroutine that tells of it, while two look.
func BenchmarkCall(b *testing.B) {
	m := New()
	h, err := host.New(host.WithRoot(b.TempDir()))
	require.NoError(b, err)
	defer func() { _ = h.Close(context.Background()) }()
	for range 2 {
		defer m.Watch(h, none).Close()
	}
	ran := is("ran")
	b.ReportAllocs()
	for i := range b.N {
		e := event("call", "caller", 0, ran)
		m.Begin(e)
		m.End(over(e, time.Duration(i%1000), nil))
	}
	runtime.KeepAlive(m)
}
