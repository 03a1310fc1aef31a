package host_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A caller who cancels nothing is not told that he has: what is removed and started again under his calls is
// unavailable.
func TestRemovedUnderCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	name := h.Plugins()[0].Name
	over := make(chan struct{})
	var callers sync.WaitGroup
	var calls, refused atomic.Int64
	for range 8 {
		callers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				_, err := h.Execute(context.Background(), tool.Call{Name: "versioned.count"})
				calls.Add(1)
				if code := tool.CodeOf(err); code == tool.CodeCanceled || errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", code, err)
					return
				} else if err != nil {
					refused.Add(1)
					runtime.Gosched() // the machine has other work
				}
			}
		})
	}
	for range 4 {
		_ = h.RestartPlugin(t.Context(), name) // it may be gone again
		require.NoError(t, h.Detach(t.Context(), name))
		go func() { _ = h.RestartPlugin(context.Background(), name) }()
		_, _ = h.Load(t.Context(), dir)
	}
	close(over)
	callers.Wait()
	t.Logf("%d calls, %d refused", calls.Load(), refused.Load())
}

// A middleware may give up on the rest of a call: the record has what was known then.
func TestMiddlewareGivesUp(t *testing.T) {
	t.Parallel()
	sink, begun, goOn := &recorded{}, make(chan struct{}), make(chan struct{})
	var abandoned sync.WaitGroup
	h := newHost(t, host.WithAudit(sink), host.WithMiddleware(func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if string(c.Arguments) == `{"text":"early"}` {
				abandoned.Go(func() { _, _ = next(context.WithoutCancel(ctx), c) })
				return tool.Text("at once"), nil
			}
			abandoned.Go(func() { _, _ = next(context.WithoutCancel(ctx), c) })
			<-begun
			return tool.Text("too late"), nil
		}
	}))
	slow := echo("slow")
	slow.Handler = func(_ context.Context, c tool.Call) (tool.Result, error) {
		if string(c.Arguments) != `{"text":"early"}` {
			close(begun)
			<-goOn
		}
		return tool.Text("done"), nil
	}
	require.NoError(t, h.Register(slow))
	s := h.Session()
	for range 200 {
		s.Call(t.Context(), tool.Call{Name: "slow", Arguments: []byte(`{"text":"early"}`)})
	}
	out := s.Call(t.Context(), tool.Call{Name: "slow"})
	close(goOn)
	abandoned.Wait()
	if last := sink.all[len(sink.all)-1]; out.Content != "too late" || out.Metadata.Attempts != 1 || last.Attempts != 1 || last.Decision != audit.Allowed {
		t.Errorf("%+v, on record %+v", out, last)
	}
}

// Close and Detach wait for calls of functions and of attached providers; after them, none runs.
func TestCloseWaitsForFunctions(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*host.Host) error{
		"Close":  func(h *host.Host) error { return h.Close(context.Background()) },
		"Detach": func(h *host.Host) error { return h.Detach(context.Background(), "attached") },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h, goOn := newHost(t), make(chan struct{})
			begun := make(chan struct{}, 2)
			var ended atomic.Int64
			slow := func(name string) tool.Tool {
				out := echo(name)
				out.Handler = func(context.Context, tool.Call) (tool.Result, error) {
					begun <- struct{}{}
					<-goOn
					ended.Add(1)
					return tool.Text("done"), nil
				}
				return out
			}
			p := &closing{Provider: require.Must(tool.NewSet(slow("of_set"), echo("quick")))(t)}
			require.Must(h.Attach(t.Context(), "attached", p))(t)
			names := []string{"of_set"}
			if how == "Close" {
				require.NoError(t, h.Register(slow("function")))
				names = append(names, "function")
			}
			kept, _ := h.Get("quick")
			results := make(chan error, len(names))
			for _, name := range names {
				go func() {
					_, err := h.Execute(context.Background(), tool.Call{Name: name})
					results <- err
				}()
				<-begun
			}
			closed := make(chan int64)
			go func() {
				assert.NoError(t, end(h))
				closed <- ended.Load()
			}()
			require.Eventually(t, "no further call is taken", func() bool {
				_, err := h.Execute(t.Context(), tool.Call{Name: "quick"})
				return err != nil
			})
			if p.closed.Load() {
				t.Error("the provider is closed before its call has ended")
			}
			close(goOn)
			if n := <-closed; n != int64(len(names)) {
				t.Errorf("%d of %d calls had ended", n, len(names))
			}
			for range names {
				require.NoError(t, <-results)
			}
			if _, err := kept.Handler(t.Context(), tool.Call{Name: "quick"}); tool.CodeOf(err) != tool.CodeUnavailable {
				t.Errorf("a call after that: %v", err)
			}
			if n := p.late.Load(); n != 0 || !p.closed.Load() {
				t.Errorf("%d calls reached the closed provider, %v", n, p.closed.Load())
			}
		})
	}
}

// closing counts the calls that reach it when it is closed.
type closing struct {
	tool.Provider
	closed atomic.Bool
	late   atomic.Int64
}

func (p *closing) Execute(ctx context.Context, c tool.Call) (tool.Result, error) {
	if p.closed.Load() {
		p.late.Add(1)
	}
	return p.Provider.Execute(ctx, c)
}

func (p *closing) Close(ctx context.Context) error {
	p.closed.Store(true)
	return p.Provider.Close(ctx)
}

// Tools that call tools of the host do not wait for the slots that their own callers hold.
func TestToolsThatCallTools(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.Limits.Running, all.Limits.Waiting = 4, 100 }))
	var together sync.WaitGroup
	together.Add(4) // all slots are taken before the first inner call
	var first atomic.Int64
	outer := echo("outer")
	outer.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if first.Add(1) <= 4 {
			together.Done()
			together.Wait()
		}
		return h.Execute(ctx, tool.Call{Name: "deeper"})
	}
	deeper := echo("deeper")
	deeper.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		return h.Execute(ctx, tool.Call{Name: "inner"})
	}
	for _, one := range []tool.Tool{outer, deeper, echo("inner")} {
		require.NoError(t, h.Register(one))
	}
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			if res, err := h.Execute(ctx, tool.Call{Name: "outer"}); err != nil || !strings.HasPrefix(res.Text(), "inner:") {
				t.Errorf("%v, %v", res.Text(), err)
			}
		})
	}
	callers.Wait()
}

// A session that was closed makes no calls, by none of its views.
func TestClosedSession(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(echo("x")))
	s := h.Session()
	view := s.With(host.WithGrants("a:b"))
	require.Must(view.Execute(t.Context(), tool.Call{Name: "x"}))(t)
	require.NoError(t, s.Close(t.Context()))
	for _, closed := range []*host.Session{s, view} {
		_, err := closed.Execute(t.Context(), tool.Call{Name: "x"})
		if e := tool.AsError(err); e == nil || e.Code != tool.CodeUnavailable || !strings.Contains(e.Message, "session is closed") {
			t.Errorf("%v", err)
		}
	}
	require.Must(h.Execute(t.Context(), tool.Call{Name: "x"}))(t)
}

// Hosts do not go in circles: there, tools that are gone would keep each other alive.
func TestCircleOfHosts(t *testing.T) {
	t.Parallel()
	hosts := make([]*host.Host, 3)
	for i := range hosts {
		hosts[i] = newHost(t)
		require.NoError(t, hosts[i].Register(echo(fmt.Sprint("tool", i))))
	}
	require.Must(hosts[0].Attach(t.Context(), "one", hosts[1]))(t)
	require.Must(hosts[1].Attach(t.Context(), "two", hosts[2].Session()))(t)
	for i, p := range []tool.Provider{hosts[0], hosts[0].Session(), hosts[1], hosts[2]} {
		if _, err := hosts[2].Attach(t.Context(), "circle", p); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%d: %v", i, err)
		}
	}
	require.Eventually(t, "all tools are at the outermost", func() bool { return hosts[0].Len() == 3 })
	require.NoError(t, hosts[2].Remove("tool2"))
	require.Eventually(t, "the tool is gone everywhere", func() bool { return hosts[0].Len() == 2 })
}

// One tool that was registered can be removed; what a provider has is its own.
func TestRemove(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(echo("x.y")))
	require.NoError(t, h.Register(echo("stays")))
	require.Must(h.Upsert("mine", echo("owned")))(t)
	require.Must(h.Attach(t.Context(), "set", require.Must(tool.NewSet(echo("of_set")))(t)))(t)
	changes, s := h.Changes(), h.Session()
	require.NoError(t, h.Remove("x_y")) // by its alias
	<-changes
	if _, err := s.Execute(t.Context(), tool.Call{Name: "x.y"}); !errors.Is(err, tool.ErrNotFound) {
		t.Errorf("a call: %v", err)
	}
	require.NoError(t, h.Remove("owned"))
	assert.ErrorIsf(t, h.Remove("x.y"), tool.ErrNotFound, "again")
	if err := h.Remove("of_set"); tool.CodeOf(err) != tool.CodeInvalidArguments || h.Len() != 2 {
		t.Errorf("a provider's: %v, %q", err, h.Names())
	}
	require.NoError(t, h.Register(echo("x.y"))) // the name is free
}
