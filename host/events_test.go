package host_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Hooks are told which tools came and went, and each state of a plugin.
func TestChangesReachHooks(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Crasher)
	tools, states := make(chan policy.ToolsChange, 100), make(chan policy.PluginChange, 100)
	h := newHost(t, host.WithHooks(policy.Hooks{
		Tools:  func(c policy.ToolsChange) { tools <- c },
		Plugin: func(c policy.PluginChange) { states <- c },
	}))
	next := func() policy.ToolsChange {
		t.Helper()
		select {
		case c := <-tools:
			return c
		case <-time.After(ceiling):
			t.Fatal("no change of tools is reported")
			return policy.ToolsChange{}
		}
	}
	require.Must(h.Upsert("guest", echo("one")))(t)
	if c := next(); !slices.Equal(c.Added, []string{"one"}) || len(c.Removed)+len(c.Changed) != 0 {
		t.Errorf("added: %+v", c)
	}
	other := func(d *tool.Definition) { d.Description = "Another." }
	require.Must(h.Upsert("guest", echo("one", other)))(t)
	require.Must(h.Upsert("guest", echo("one", other)))(t) // changes nothing
	h.Unregister("guest")
	if c := next(); !slices.Equal(c.Changed, []string{"one"}) {
		t.Errorf("changed: %+v", c)
	}
	if c := next(); !slices.Equal(c.Removed, []string{"one"}) {
		t.Errorf("removed: %+v", c)
	}

	reaches := func(want ...string) {
		t.Helper()
		for _, state := range want {
			select {
			case c := <-states:
				if c.State != state || c.Plugin == "" || (c.State == "ready") != (c.PID != 0) {
					t.Errorf("state %+v, want %q", c, state)
				}
			case <-time.After(ceiling):
				t.Fatalf("the state %s is not reported", state)
			}
		}
	}
	require.Must(h.Load(t.Context(), dir))(t)
	reaches("starting", "ready")
	p := h.Plugins()[0]
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGKILL))
	reaches("idle")
	require.NoError(t, h.Detach(t.Context(), p.Name))
	reaches("draining", "")
	if n := h.Status().DroppedEvents; n != 0 {
		t.Errorf("%d events are missing", n)
	}
}

// A hook that blocks misses events, which are counted, and delays nothing.
func TestDroppedEventsAreCounted(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	h := newHost(t, host.WithHooks(policy.Hooks{Before: func(policy.Event) { <-hold }}))
	t.Cleanup(func() { close(hold) }) // before the host is closed
	require.NoError(t, h.Register(echo("a")))
	for range 1100 {
		require.Must(h.Execute(t.Context(), tool.Call{Name: "a"}))(t)
	}
	if n := h.Status().DroppedEvents; n < 70 || n > 76 {
		t.Errorf("%d events are missing", n)
	}
}
