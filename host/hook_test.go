package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	note := func(kind string) func(policy.Event) {
		return func(e policy.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, kind+" "+e.Call.Name)
			if kind == "error" && (e.Err == nil || e.Session == "") {
				t.Errorf("event %+v", e)
			}
		}
	}
	h := newHost(t, host.WithHooks(policy.Hooks{Before: note("before"), After: note("after"), Error: note("error")}))
	require.NoError(t, h.Register(echo("works")))
	h.Call(t.Context(), tool.Call{Name: "works"})
	h.Call(t.Context(), tool.Call{Name: "missing"})
	if err := h.Close(t.Context()); err != nil { // which lets the hooks finish
		t.Fatal(err)
	}
	want := []string{"before works", "after works", "before missing", "error missing"}
	for i := range want {
		if len(seen) != len(want) || seen[i] != want[i] {
			t.Fatalf("hooks saw %q, want %q", seen, want)
		}
	}
}

// A hook that panics or never returns harms no call, and no Close.
func TestBadHooks(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{})
	t.Cleanup(func() { close(blocked) })
	h := newHost(t, host.WithHooks(policy.Hooks{
		Before: func(policy.Event) { panic("a hook's mistake") },
		After:  func(policy.Event) { <-blocked },
	}))
	require.NoError(t, h.Register(echo("works")))
	for range 3000 { // more than the queue holds
		if out := h.Call(t.Context(), tool.Call{Name: "works"}); !out.Success {
			t.Fatalf("outcome %+v", out)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Close(over); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
}

// Span is told of every call before it returns, whatever the other hooks do, and may panic.
func TestSpanHook(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{})
	t.Cleanup(func() { close(blocked) })
	var seen []string
	h := newHost(t, host.WithHooks(policy.Hooks{After: func(policy.Event) { <-blocked }, Span: func(e policy.Event) {
		if seen = append(seen, e.Call.Name); e.Definition != nil {
			seen[len(seen)-1] += " is " + e.Definition.Name
		}
		panic("a hook's mistake")
	}}))
	require.NoError(t, h.Register(echo("group.works")))
	for range 3000 { // more than the queue of After holds
		if out := h.Call(t.Context(), tool.Call{Name: "group_works"}); !out.Success {
			t.Fatalf("outcome %+v", out)
		}
	}
	h.Call(t.Context(), tool.Call{Name: "missing"})
	if n := len(seen); n != 3001 || seen[0] != "group_works is group.works" || seen[n-1] != "missing" {
		t.Errorf("it was told of %d calls, the last of %q", n, seen[n-1])
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Close(over)
}
