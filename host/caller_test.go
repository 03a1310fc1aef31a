package host_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// limited is a safe tool that each caller may call so often in an hour.
func limited(name string, calls int) tool.Tool {
	return echo(name, func(d *tool.Definition) {
		d.RateLimit = &tool.RateLimit{Calls: calls, Period: tool.Duration(time.Hour)}
	})
}

// called returns how many of n calls, each in a session of its own, were not refused for rate.
func called(t *testing.T, h *host.Host, n int, name string, c host.Caller) (passed int) {
	t.Helper()
	for range n {
		switch out := h.Session(host.WithCaller(c)).Call(t.Context(), tool.Call{Name: name}); {
		case out.Success:
			passed++
		case out.Error.Code != tool.CodeRateLimited:
			t.Errorf("%s: %+v", name, out.Error)
		}
	}
	return passed
}

// A rate limit counts the calls of a caller, in whatever sessions and also while the tool is
// compiled again.
func TestRateOfCaller(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(limited("x", 3)))
	ann := host.Caller{Name: "ann"}
	if n := called(t, h, 2, "x", ann); n != 2 {
		t.Errorf("%d of ann's first 2 calls passed", n)
	}
	require.NoError(t, h.Reconfigure(host.WithOverrides(map[string]host.Override{"x": {Safety: tool.Cautious}})))
	if n := called(t, h, 18, "x", ann); n != 1 {
		t.Errorf("%d of ann's other calls passed, want 1", n)
	}
	if n := called(t, h, 20, "x", host.Caller{Name: "bob"}); n != 3 {
		t.Errorf("%d of bob's calls passed, want 3", n)
	}
	if n := called(t, h, 20, "x", host.Caller{}); n != 20 {
		t.Errorf("%d calls of sessions without a caller passed: each is a caller of its own", n)
	}
}

// With a file, the limit holds over hosts, one after another and at the same time, and a file
// that cannot be used refuses the calls of limited tools.
func TestRatesInFile(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(state, "rates.json")
	var hosts []*host.Host
	for range 2 {
		h := newHost(t, host.WithState(state))
		for _, x := range []tool.Tool{limited("x", 3), limited("y", 30), echo("free")} {
			require.NoError(t, h.Register(x))
		}
		hosts = append(hosts, h)
	}
	a, b, cli := hosts[0], hosts[1], host.Caller{Name: "cli"}
	if first, then := called(t, a, 2, "x", cli), called(t, b, 18, "x", cli); first != 2 || then != 1 {
		t.Errorf("%d and %d of 20 calls passed, want 2 and 1", first, then)
	}
	var passed atomic.Int64
	var all sync.WaitGroup
	for _, h := range hosts {
		for range 4 {
			all.Go(func() { passed.Add(int64(called(t, h, 10, "y", cli))) })
		}
	}
	if all.Wait(); passed.Load() != 30 {
		t.Errorf("%d of 80 calls at the same time passed, want 30", passed.Load())
	}
	bounded := host.Caller{Name: "other", Rate: &tool.RateLimit{Calls: 2, Period: tool.Duration(time.Hour)}}
	if first, then := called(t, a, 1, "free", bounded), called(t, b, 10, "free", bounded); first != 1 || then != 1 {
		t.Errorf("%d and %d calls of a caller that may have 2 passed", first, then)
	}

	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil { // as a power failure may leave it
		t.Fatal(err)
	}
	if n := called(t, a, 20, "x", cli); n != 3 {
		t.Errorf("with a damaged file %d calls passed, want 3", n)
	}
	if err := os.Remove(path); err != nil { // hosts keep it open, and see that it is another one
		t.Fatal(err)
	}
	if first, then := called(t, b, 2, "x", cli), called(t, a, 18, "x", cli); first != 2 || then != 1 {
		t.Errorf("with a new file %d and %d of 20 calls passed, want 2 and 1", first, then)
	}
	require.NoError(t, os.Chmod(path, 0o666))
	out := a.Session(host.WithCaller(cli)).Call(t.Context(), tool.Call{Name: "x"})
	if out.Success || out.Error.Code != tool.CodeUnavailable || !strings.Contains(out.Content, path) {
		t.Errorf("with a file that others may write: %+v", out)
	}
	if n := called(t, a, 5, "free", cli); n != 5 {
		t.Errorf("%d calls of a tool without a limit passed", n)
	}
}

// A limit that no number of processes reaches costs no file.
func TestRatesBeyondReach(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	path := filepath.Join(state, "rates.json")
	h := newHost(t, host.WithState(state))
	x := limited("x", 1)
	x.RateLimit = &tool.RateLimit{Calls: 2_000_000, Period: tool.Duration(time.Second)}
	require.NoError(t, h.Register(x))
	if n := called(t, h, 5, "x", host.Caller{Name: "cli"}); n != 5 {
		t.Errorf("%d of 5 calls passed", n)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the calls were counted in a file: %v", err)
	}
}

// The bounds of a caller hold for all its sessions and tools together, and no call that is
// refused or has ended counts.
func TestQuotaOfCaller(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	begun, end := make(chan struct{}), make(chan struct{})
	slow := echo("slow")
	slow.Handler = func(context.Context, tool.Call) (tool.Result, error) {
		begun <- struct{}{}
		<-end
		return tool.Text("done"), nil
	}
	for _, x := range []tool.Tool{slow, echo("quick")} {
		require.NoError(t, h.Register(x))
	}
	ann := host.Caller{Name: "ann", Calls: 2}
	call := func(c host.Caller, name string) host.Outcome {
		return h.Session(host.WithCaller(c)).Call(t.Context(), tool.Call{Name: name})
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if out := call(ann, "slow"); !out.Success {
				t.Errorf("a call of ann: %+v", out.Error)
			}
		})
		<-begun
	}
	for range 3 {
		if out := call(ann, "quick"); out.Success || out.Error.Code != tool.CodeResourceExhausted ||
			!strings.Contains(out.Content, "2 calls of the caller ann are in progress") {
			t.Errorf("a third call of ann: %+v", out)
		}
	}
	if out := call(host.Caller{Name: "bob", Calls: 2}, "quick"); !out.Success {
		t.Errorf("a call of bob: %+v", out.Error)
	}
	close(end)
	all.Wait()
	for range 5 {
		if out := call(ann, "quick"); !out.Success {
			t.Errorf("a call of ann after the others: %+v", out.Error)
		}
	}
	both := host.Caller{Name: "both", Rate: &tool.RateLimit{Calls: 3, Period: tool.Duration(time.Hour)}}
	if n := called(t, h, 20, "quick", both); n != 3 {
		t.Errorf("%d of 20 calls passed, want 3", n)
	}
}

// The record, approvers and hooks learn the caller's name and the session's ID.
func TestCallerIsNamed(t *testing.T) {
	t.Parallel()
	records, events := make(recordChannel, 10), make(chan policy.Event, 10)
	h := newHost(t, host.WithAudit(records), host.WithHooks(policy.Hooks{Before: func(e policy.Event) { events <- e }}))
	require.NoError(t, h.Register(echo("danger", func(d *tool.Definition) { d.Safety = tool.Dangerous })))
	var asked policy.Request
	ann := host.Caller{Name: "ann", Account: "lab\n", Via: "mcp", Client: "strange\x1b[2J " + strings.Repeat("x", 1<<20)}
	s := h.Session(host.WithCaller(ann), host.WithApprover(policy.ApproverFunc(
		func(_ context.Context, r policy.Request) (policy.Decision, error) {
			asked = r
			return policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"text":1}`), By: "eva"}, nil
		})))
	view := s.With(host.WithCaller(host.Caller{Account: "other", Via: "other", Client: "other"}))
	if out := view.Call(t.Context(), tool.Call{Name: "danger", Arguments: []byte(`{"text":"asked"}`)}); out.Success {
		t.Errorf("with arguments that are not valid: %+v", out)
	}
	if e := <-events; asked.Caller != "ann" || asked.Session != s.ID() || asked.Account != `lab\n` || e.Account != `lab\n` || e.Caller != "ann" || e.Session != s.ID() {
		t.Errorf("the approver was asked for %q, %q and the hook told of %q, %q", asked.Caller, asked.Session, e.Caller, e.Session)
	}
	client := `strange\x1b[2J ` + strings.Repeat("x", 128-len(`strange\x1b[2J `)) + "…"
	if asked.Via != "mcp" || asked.Client != client {
		t.Errorf("the approver was told of a call by %q from %q", asked.Via, asked.Client)
	}
	// The approver's change is on record although it was refused.
	r := <-records
	if r.Caller != "ann" || r.Account != `lab\n` || r.Via != "mcp" || r.Client != client || r.Session != s.ID() || r.Decision != audit.Denied || r.Approver != "eva" ||
		r.AskedInput != `{"text":"asked"}` || r.Input != `{"text":1}` || r.AskedArguments == r.Arguments {
		t.Errorf("the record is %+v", r)
	}
	_ = h.Call(t.Context(), tool.Call{Name: "danger"})
	if r := <-records; r.Caller != "anonymous" || r.Session == "" {
		t.Errorf("a call without a session is on record as %+v", r)
	}
	_ = h.Session().Call(t.Context(), tool.Call{Name: "danger"})
	if r := <-records; r.Caller+r.Account+r.Via+r.Client != "" || r.Session == "" {
		t.Errorf("a call of a session without a caller is on record as %+v", r)
	}
}

// recordChannel is a sink that sends records.
type recordChannel chan sent

type sent struct {
	audit.Record
	Input, AskedInput string
}

func (c recordChannel) Write(r audit.Record) error {
	c <- sent{r, string(r.Input), string(r.AskedInput)}
	return nil
}

// What a session is granted or loses holds in its views, but for what a view was granted or lost itself.
func TestGrantsOfViews(t *testing.T) {
	t.Parallel()
	s := newHost(t).Session(host.WithGrants("a", "b"))
	view := s.With(host.WithGrants("c"))
	inner := view.With()
	inner.Revoke("b")
	s.Revoke("a")
	s.Grant("d")
	for _, c := range []struct {
		of   *host.Session
		want string
	}{{s, "bd"}, {view, "bcd"}, {inner, "cd"}} {
		got := ""
		for _, name := range "abcd" {
			if c.of.Holds(tool.Capability(name)) {
				got += string(name)
			}
		}
		assert.Equalf(t, got, c.want, "held")
	}
}

// A view has the session's identity, and grants and an approver of its own.
func TestViewOfSession(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, x := range []tool.Tool{
		echo("read", func(d *tool.Definition) { d.Permission = tool.FSRead }),
		{
			Definition: tool.Definition{Name: "who", Description: "Says its session.", Safety: tool.Dangerous},
			Handler:    func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(c.Session), nil },
		},
	} {
		require.NoError(t, h.Register(x))
	}
	s := h.Session(host.WithCaller(host.Caller{Name: "ann"}), host.WithVisible(func(d tool.Definition) bool { return d.Name != "hidden" }))
	view := s.With(host.WithGrants(tool.FSRead), host.WithSessionID("other"), host.WithCaller(host.Caller{Name: "bob"}),
		host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: policy.Allow}, nil
		})))
	if view.ID() != s.ID() || view.Caller().Name != "ann" {
		t.Errorf("the view is of session %s of %s", view.ID(), view.Caller().Name)
	}
	if out := view.Call(t.Context(), tool.Call{Name: "who"}); out.Content != s.ID() {
		t.Errorf("the tool saw %+v, want session %s", out, s.ID())
	}
	for name, code := range map[string]tool.Code{"read": tool.CodePermissionDenied, "who": tool.CodeApprovalRequired} {
		if out := s.Call(t.Context(), tool.Call{Name: name}); out.Success || out.Error.Code != code {
			t.Errorf("%s in the session: %+v", name, out)
		}
	}
	if out := view.Call(t.Context(), tool.Call{Name: "read"}); !out.Success {
		t.Errorf("read in the view: %+v", out.Error)
	}
	if names := s.Plugins(); len(names) > 0 || !slices.Equal(names, view.Plugins()) {
		t.Errorf("plugins with state: %v, %v", names, view.Plugins())
	}
}
