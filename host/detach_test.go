package host_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// stubborn is a provider that heeds no context: its Close waits for release, its channel of
// changes stays open, and List waits too once it is told to.
type stubborn struct {
	tool.Provider
	changes chan struct{}
	release chan struct{}
	listing chan struct{} // receives when List has begun to wait
	waits   atomic.Bool
}

func newStubborn(t *testing.T, tools ...tool.Tool) *stubborn {
	t.Helper()
	s := &stubborn{
		Provider: require.Must(tool.NewSet(tools...))(t),
		changes:  make(chan struct{}, 1), release: make(chan struct{}), listing: make(chan struct{}, 1),
	}
	t.Cleanup(func() { close(s.release) })
	return s
}

func (s *stubborn) Changes() <-chan struct{} { return s.changes }

func (s *stubborn) Close(context.Context) error {
	<-s.release
	return nil
}

func (s *stubborn) List(ctx context.Context) ([]tool.Definition, error) {
	if s.waits.Load() {
		s.listing <- struct{}{}
		<-s.release
	}
	return s.Provider.List(ctx)
}

// Close ends by its context, whatever a provider does.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	h := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	s := newStubborn(t, echo("a"))
	require.Must(h.Attach(t.Context(), "stubborn", s))(t)
	s.waits.Store(true)
	s.changes <- struct{}{}
	<-s.listing // a goroutine of the host is in the provider
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- h.Close(ctx) }()
	select {
	case err := <-done:
		var e *tool.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) || e.Plugin != "stubborn" {
			t.Errorf("Close: %v", err)
		}
	case <-time.After(ceiling):
		t.Fatal("Close does not return")
	}
}

// What is detached is closed, its tools are gone, its name is free, and it does not come back.
func TestDetach(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	inner := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	require.NoError(t, inner.Register(echo("in")))
	require.Must(h.Attach(t.Context(), "inner", inner))(t)
	closed := inner.Changes()
	if err := h.Detach(t.Context(), "inner"); err != nil || h.Len() != 0 {
		t.Errorf("%v, tools %q", err, h.Names())
	}
	if _, open := <-closed; open {
		t.Error("the provider is not closed")
	}
	if err := h.Detach(t.Context(), "inner"); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("again: %v", err)
	}
	set := require.Must(tool.NewSet(echo("in")))(t)
	if n := require.Must(h.Attach(t.Context(), "inner", set))(t); n != 1 {
		t.Errorf("%d tools of the next", n)
	}
	h.Unregister("inner")
	if n := require.Must(h.Attach(t.Context(), "inner", set))(t); n != 1 {
		t.Errorf("%d tools after Unregister", n)
	}
}

// A provider that answers nothing can be detached: its name is free at once, and what it says
// later counts no more.
func TestDetachStubborn(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := newStubborn(t, echo("a"))
	require.Must(h.Attach(t.Context(), "name", s))(t)
	s.waits.Store(true)
	s.changes <- struct{}{}
	<-s.listing
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := h.Detach(ctx, "name"); !errors.Is(err, context.DeadlineExceeded) || h.Len() != 0 {
		t.Errorf("%v, tools %q", err, h.Names())
	}
	require.Must(h.Attach(t.Context(), "name", require.Must(tool.NewSet(echo("b")))(t)))(t)
	assert.EqualSlicesf(t, h.Names(), []string{"b"}, "tools")
}

// A plugin that is detached has no process, and only comes back if it is loaded again.
func TestDetachPlugin(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture)
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	before := h.Plugins()
	if len(before) != 1 || before[0].State != plugin.Ready {
		t.Fatalf("%+v", before)
	}
	if err := h.Detach(t.Context(), before[0].Name); err != nil || h.Len() != 0 || len(h.Plugins()) != 0 {
		t.Errorf("%v, tools %q, plugins %+v", err, h.Names(), h.Plugins())
	}
	if p, err := os.FindProcess(before[0].PID); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Error("the process lives")
	}
	if err := h.Refresh(t.Context(), dir); err != nil || h.Len() != 0 {
		t.Errorf("Refresh: %v, tools %q", err, h.Names())
	}
	if err := h.Sync(t.Context(), dir); err != nil || h.Len() == 0 {
		t.Errorf("Sync: %v, tools %q", err, h.Names())
	}
}

// A long list of calls does not refuse itself, and asks one question at a time.
func TestCallAllIsBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) {
		all.Limits.Running, all.Limits.Waiting = 2, 1
	}), host.WithOverrides(map[string]host.Override{"asked": {Approval: policy.Ask}}))
	var running, asking atomic.Int32
	busy := echo("busy")
	busy.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		defer running.Add(-1)
		if n := running.Add(1); n > 2 {
			t.Errorf("%d calls run", n)
		}
		return tool.Text("done"), nil
	}
	for _, one := range []tool.Tool{busy, echo("asked")} {
		require.NoError(t, h.Register(one))
	}
	inner := newHost(t, host.WithOverrides(map[string]host.Override{"nested": {Approval: policy.Ask}}))
	require.NoError(t, inner.Register(echo("nested")))
	require.Must(h.Attach(t.Context(), "inner", inner))(t)
	s := h.Session(host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		defer asking.Add(-1)
		if n := asking.Add(1); n > 1 {
			t.Errorf("%d questions at a time", n)
		}
		return policy.Decision{Verdict: policy.Allow}, nil
	})))
	calls := make([]tool.Call, 3000)
	for i := range calls {
		calls[i].Name = []string{"busy", "busy", "busy", "asked", "nested"}[i%1500/300]
	}
	failed := 0
	for _, out := range s.CallAll(t.Context(), calls) {
		if !out.Success {
			failed++
			if failed == 1 {
				t.Errorf("%+v", out)
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d calls failed", failed, len(calls))
	}
}

// What is nil is an error, or means its default: it never panics.
func TestNil(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]host.Option{
		"option": nil, "logger": host.WithLogger(nil), "slog": host.WithLogHandler(nil),
		"middleware": host.WithMiddleware(nil), "defaults": host.WithDefaults(nil),
	} {
		if _, err := host.New(host.WithRoot(t.TempDir()), opt); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := newHost(t, host.WithAudit(nil), host.WithRecorder(nil), host.WithDisabled(nil), host.WithPluginSettings(nil),
		host.WithHooks(policy.Hooks{}), host.WithOverrides(nil), host.WithLocks())
	require.NoError(t, h.Reconfigure(host.WithDisabled(nil)))
	require.NoError(t, h.Reconfigure(host.WithPluginSettings(nil)))
	assert.NoError(t, h.Reconfigure(host.WithOverrides(nil)))
	var none *host.Host
	for name, p := range map[string]tool.Provider{"nil": nil, "host": none, "session": (*host.Session)(nil), "plugin": (*pluginrun.Plugin)(nil)} {
		if _, err := h.Attach(t.Context(), name, p); tool.CodeOf(err) != tool.CodeInvalidDefinition {
			t.Errorf("attached %s: %v", name, err)
		}
	}
	if err := h.Register(tool.Tool{Definition: echo("x").Definition}); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("a tool without a handler: %v", err)
	}
	harm := echo("harm", func(d *tool.Definition) { d.Safety = tool.Dangerous })
	require.NoError(t, h.Register(harm))
	for _, a := range []policy.Approver{policy.ApproverFunc(nil), (*asked)(nil)} {
		s := h.Session(host.WithApprover(a), host.WithVisible(nil), nil)
		for range s.CallAll(t.Context(), nil) {
		}
		if _, err := s.Execute(t.Context(), tool.Call{Name: "harm"}); tool.CodeOf(err) != tool.CodeApprovalDenied {
			t.Errorf("%T: %v", a, err)
		}
		out, _, _ := h.Session().CallWith(t.Context(), tool.Call{Name: "harm"}, host.CallOptions{Approver: a})
		if out.Error == nil || out.Error.Code != tool.CodeApprovalDenied {
			t.Errorf("%T for one call: %+v", a, out)
		}
	}
}

// asked is an approver whose nil pointer panics.
type asked struct{ by string }

func (a *asked) Approve(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Verdict: policy.Allow, By: a.by}, nil
}
