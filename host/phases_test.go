package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// endLines is a sink that keeps the end lines of calls.
type endLines struct {
	mu    sync.Mutex
	calls map[string]audit.Record
}

func (e *endLines) Write(r audit.Record) error {
	if r.Event == audit.End {
		e.mu.Lock()
		defer e.mu.Unlock()
		if r.Phases != nil {
			kept := *r.Phases
			r.Phases = &kept
		}
		e.calls[r.Call] = r
	}
	return nil
}

func second(n int) tool.Duration { return tool.Duration(time.Duration(n) * time.Second) }

// Each second of a call is counted where it went, to the end of the call: in its outcome, its line and its event.
func TestPhases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		record := &endLines{calls: map[string]audit.Record{}}
		seen := map[string]policy.Event{}
		var at sync.Map
		h := require.Must(host.New(host.WithAudit(record), host.WithDefaults(func(s *plugin.Settings) { s.Limits.Running = 1 }),
			host.WithHooks(policy.Hooks{
				Before: func(e policy.Event) {
					time.AfterFunc(500*time.Millisecond, func() { at.Store(e.Call.ID, e.Running.Phase()) })
				},
				After: func(e policy.Event) { seen[e.Call.ID] = e },
			})))(t)
		defer func() { _ = h.Close(context.Background()) }()
		tries := 0
		works := echo("works.slow")
		works.Handler = func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(3 * time.Second)
			return tool.Text("done"), nil
		}
		danger := echo("works.danger", func(d *tool.Definition) { d.Safety = tool.Dangerous })
		asks := echo("works.asks")
		asks.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			time.Sleep(time.Second)
			_, err := tool.Ask(ctx, tool.Question{Message: "Which?"})
			return tool.Text("done"), err
		}
		flaky := echo("works.flaky", func(d *tool.Definition) { d.Idempotent, d.MaxRetries = true, 1 })
		flaky.Handler = func(context.Context, tool.Call) (tool.Result, error) {
			if tries++; tries == 1 {
				time.Sleep(2 * time.Second)
				return tool.Result{}, tool.Errorf(tool.CodeUnavailable, "not now").NeverSent()
			}
			time.Sleep(time.Second)
			return tool.Text("done"), nil
		}
		nests := echo("works.nests")
		nests.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			return h.Session(host.WithCaller(host.Caller{Name: "inner"})).Execute(ctx, tool.Call{ID: "inner", Name: "works.slow"})
		}
		require.Must(h.Attach(t.Context(), "works", require.Must(tool.NewSet(works, danger, asks, flaky, nests))(t)))(t)
		one := h.Session(host.WithCaller(host.Caller{Name: "one"}), host.WithApprover(policy.ApproverFunc(
			func(context.Context, policy.Request) (policy.Decision, error) {
				time.Sleep(4 * time.Second)
				return policy.Decision{Verdict: policy.Allow}, nil
			})), host.WithAsker(func(context.Context, tool.Question) (tool.Answer, error) {
			time.Sleep(5 * time.Second)
			return tool.Answer{Action: tool.Accept}, nil
		}))
		two := h.Session(host.WithCaller(host.Caller{Name: "two"}))

		var calls sync.WaitGroup
		for _, c := range []struct {
			id, name string
			by       *host.Session
		}{{"first", "works.slow", one}, {"behind others", "works.slow", two}, {"behind own", "works.slow", one}} {
			calls.Go(func() { c.by.Call(t.Context(), tool.Call{ID: c.id, Name: c.name}) })
			synctest.Wait()
		}
		calls.Wait()
		for id, name := range map[string]string{"asked": "works.danger", "asks": "works.asks", "retried": "works.flaky", "nests": "works.nests"} {
			calls.Go(func() {
				out := one.Call(t.Context(), tool.Call{ID: id, Name: name, Arguments: []byte(`{"text":"abcdefgh"}`)})
				if kept := record.calls[id].Phases; out.Metadata.Phases != *kept || !out.Success {
					t.Errorf("%s: the outcome is %+v, with the phases %+v, want %+v", id, out, out.Metadata.Phases, kept)
				}
			})
			calls.Wait()
		}
		synctest.Wait()
		for id, want := range map[string]policy.Phases{
			"first":         {Ran: second(3)},
			"behind others": {Queued: second(3), Ahead: 1, Ran: second(3)},
			"behind own":    {Queued: second(6), Ahead: 2, Own: 1, Ran: second(3)},
			"asked":         {Asked: second(4)},
			"asks":          {Asked: second(5), Ran: second(1)},
			"retried":       {Retried: second(2), Ran: second(1)},
			"nests":         {Ran: second(3)},
			"inner":         {Ran: second(3)},
		} {
			line, event := record.calls[id], seen[id]
			got := *line.Phases
			if event.Phases != got || event.Decision != line.Decision || event.Safety == tool.Unset {
				t.Errorf("%s: the event has %+v, want %+v", id, event, line)
			}
			if pause := got.Retried - want.Retried; pause > 0 && pause < second(1) { // random
				got.Retried = want.Retried
			}
			got.BytesIn, got.BytesOut, got.EstimatedTokens = 0, 0, 0
			assert.Equalf(t, got, want, "%s", id)
		}
		if p := record.calls["asked"].Phases; p.BytesIn != 19 || p.BytesOut != 32 || p.EstimatedTokens != 12 {
			t.Errorf("sizes: %+v", p)
		}
		if r := record.calls["inner"]; r.Parent != "nests" || record.calls["nests"].Parent != "" || seen["inner"].Parent != "nests" {
			t.Errorf("the call in a call: %+v", r)
		}
		for id, want := range map[string]string{"first": "ran", "behind others": "queued", "asked": "asked", "asks": "ran"} {
			if was, _ := at.Load(id); was != want {
				t.Errorf("%s was at %q, want %q", id, was, want)
			}
		}
	})
}

// The start of a plugin, what earlier attempts took, and a large argument's way have their time too.
func TestPhasesOfAPlugin(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Crasher, plugintest.Named)
	h := newHost(t, host.WithRoot(t.TempDir()))
	require.Must(h.Load(t.Context(), dir))(t)
	out := h.Call(t.Context(), tool.Call{Name: "crash.flaky"})
	p := out.Metadata.Phases
	whole := tool.Duration(out.Metadata.ExecutionTimeMS * float64(time.Millisecond))
	if p.Retried <= 0 || p.Handshake <= 0 || p.Handshake > p.Started || p.Sent <= 0 || p.Ran <= 0 ||
		p.Retried+p.Started+p.Queued+p.Sent+p.Ran+p.Checked > whole+tool.Duration(10*time.Microsecond) {
		t.Errorf("a call that was repeated took %v, with %+v", whole, p)
	}
	text := `{"path":"` + strings.Repeat("x", 1<<20) + `"}`
	large := h.Call(t.Context(), tool.Call{Name: "named.t0", Arguments: []byte(text)}).Metadata.Phases
	if large.Started != 0 || large.Retried != 0 || large.Sent <= 0 || large.Ran <= 0 || large.BytesIn != len(text) {
		t.Errorf("a large call: %+v", large)
	}
}
