package host_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// nested returns a host that has another one attached, as it is or as a session.
func nested(t *testing.T, inner *host.Host, as tool.Provider) (outer *host.Host) {
	t.Helper()
	outer = newHost(t)
	if as == nil {
		as = inner
	}
	require.Must(outer.Attach(t.Context(), "inner", as))(t)
	return outer
}

// sessionTool answers with the session that it is called in.
func sessionTool(change ...func(*tool.Definition)) tool.Tool {
	t := echo("p.session", change...)
	t.Handler = func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(c.Session), nil }
	return t
}

// The callers of the outer host stay apart in the inner one, attached as a host or a session.
func TestNestedCallersStayApart(t *testing.T) {
	t.Parallel()
	inner := newHost(t)
	require.NoError(t, inner.Register(sessionTool(func(d *tool.Definition) {
		d.RateLimit = &tool.RateLimit{Calls: 2, Period: tool.Duration(time.Hour)}
	})))
	for name, as := range map[string]tool.Provider{"host": inner, "session": inner.Session()} {
		outer := nested(t, inner, as)
		one, two := outer.Session(), outer.Session()
		for _, s := range []*host.Session{one, two, one, two} {
			if out := s.Call(t.Context(), tool.Call{Name: "p.session"}); out.Content != s.ID() {
				t.Errorf("%s: session %s is %q inside", name, s.ID(), out.Content)
			}
		}
		if out := one.Call(t.Context(), tool.Call{Name: "p.session"}); out.Error == nil || out.Error.Code != tool.CodeRateLimited ||
			out.Error.RetryAfter <= 0 {
			t.Errorf("%s: the third call: %+v", name, out.Error)
		}
	}
}

// What the outer caller was granted counts in the inner host, and its approver is asked once.
func TestNestedGrantsAndApproval(t *testing.T) {
	t.Parallel()
	inner := newHost(t)
	guarded := sessionTool(func(d *tool.Definition) { d.Permission, d.Safety = tool.FSWrite, tool.Dangerous })
	require.NoError(t, inner.Register(guarded))
	outer := nested(t, inner, nil)
	var asked atomic.Int32
	yes := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		asked.Add(1)
		return policy.Decision{Verdict: policy.Allow, By: "the owner"}, nil
	})
	call := tool.Call{Name: "p.session"}
	for _, c := range []struct {
		name string
		opts []host.SessionOption
		code tool.Code
	}{
		{"no grant", []host.SessionOption{host.WithApprover(yes)}, tool.CodePermissionDenied},
		{"no approver", []host.SessionOption{host.WithGrants(tool.FSWrite)}, tool.CodeApprovalRequired},
		{"both", []host.SessionOption{host.WithGrants(tool.FSWrite), host.WithApprover(yes)}, ""},
	} {
		if _, err := outer.Session(c.opts...).Execute(t.Context(), call); tool.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times about one call", asked.Load())
	}

	// Where the outer operator says that the tool is safe, the inner host still asks.
	lenient := newHost(t, host.WithOverrides(map[string]host.Override{"p.session": {Safety: tool.Safe}}))
	require.Must(lenient.Attach(t.Context(), "inner", inner))(t)
	if _, err := lenient.Session(host.WithGrants(tool.FSWrite)).Execute(t.Context(), call); tool.CodeOf(err) != tool.CodeApprovalRequired {
		t.Errorf("without an approver: %v", err)
	}
	s := lenient.Session(host.WithGrants(tool.FSWrite), host.WithApprover(yes))
	if _, err := s.Execute(t.Context(), call); err != nil || asked.Load() != 2 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}

	// A session that is attached has grants and an approver of its own, or none.
	bare := nested(t, inner, inner.Session(host.WithApprover(yes)))
	full := host.WithGrants(tool.FSWrite)
	if _, err := bare.Session(full, host.WithApprover(yes)).Execute(t.Context(), call); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("through a session without grants: %v", err)
	}
}

// What was approved is one call: a tool that calls others does not act for its caller.
func TestApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	inner := newHost(t)
	harm := echo("harm", func(d *tool.Definition) { d.Safety = tool.Dangerous })
	var runs int
	require.NoError(t, inner.Register(counted(harm, &runs)))
	outer := newHost(t)
	yes := host.WithApprover(policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	}))
	for name, run := range map[string]tool.Handler{
		// A provider that passes on another call than was approved, so the approver is asked.
		"sly": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			c.Name, c.Arguments = "harm", []byte(`{"text":"other"}`)
			return inner.Execute(ctx, c)
		},
	} {
		deed := echo(name, func(d *tool.Definition) { d.Safety = tool.Dangerous })
		deed.Handler = run
		require.Must(outer.Attach(t.Context(), name, struct{ tool.Provider }{require.Must(tool.NewSet(deed))(t)}))(t)
		fn := echo(name+".fn", func(d *tool.Definition) { d.Safety = tool.Dangerous })
		fn.Handler = run
		require.NoError(t, outer.Register(fn))
	}
	var questions []string
	both := host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		questions = append(questions, r.Call.Name+string(r.Call.Arguments))
		return policy.Decision{Verdict: policy.Allow}, nil
	}))
	require.Must(outer.Session(both).Execute(t.Context(), tool.Call{Name: "sly", Arguments: []byte(`{}`)}))(t)
	if want := []string{"sly{}", `harm{"text":"other"}`}; !slices.Equal(questions, want) || runs != 1 {
		t.Errorf("asked about %q, ran %d times", questions, runs)
	}
	if _, err := outer.Session(yes).Execute(t.Context(), tool.Call{Name: "sly.fn", Arguments: []byte(`{}`)}); tool.CodeOf(err) != tool.CodeApprovalRequired {
		t.Errorf("a function of the program acted for its caller: %v", err)
	}
}

// A tool that is added to an inner host, or taken from it, is seen through two others.
func TestNestedChangesAreSeen(t *testing.T) {
	t.Parallel()
	inner := newHost(t)
	middle := nested(t, inner, inner.Session())
	outer := nested(t, middle, nil)
	changes := outer.Changes()
	for _, step := range []struct {
		do   func()
		want []string
	}{
		{func() { require.Must(inner.Upsert("guest", echo("late")))(t) }, []string{"late"}},
		{func() { inner.Unregister("guest") }, nil},
	} {
		step.do()
		for !slices.Equal(outer.Names(), step.want) {
			select {
			case <-changes:
			case <-time.After(ceiling):
				t.Fatalf("tools %q, want %q", outer.Names(), step.want)
			}
		}
	}
	require.NoError(t, outer.Close(t.Context()))
	for open := true; open; { // the last change may wait in it
		select {
		case _, open = <-changes:
		case <-time.After(ceiling):
			t.Fatal("the channel is open after Close")
		}
	}
	if _, open := <-middle.Changes(); open {
		t.Error("the attached host was not closed")
	}
}

// The preview of an inner host's tool reaches the approver of the outer one.
func TestNestedPreview(t *testing.T) {
	t.Parallel()
	inner := newHost(t)
	harm := echo("harm", func(d *tool.Definition) { d.Safety, d.Permission = tool.Dangerous, tool.FSWrite })
	harm.Preview = func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text("would run in " + c.Session), nil
	}
	require.NoError(t, inner.Register(harm))
	require.NoError(t, inner.Register(echo("plain")))
	outer := nested(t, inner, nil)
	var shown string
	s := outer.Session(host.WithGrants(tool.FSWrite), host.WithApprover(policy.ApproverFunc(
		func(ctx context.Context, r policy.Request) (policy.Decision, error) {
			res, err := r.Preview(ctx)
			shown = res.Text()
			return policy.Decision{}, err
		})))
	_, err := s.Execute(t.Context(), tool.Call{Name: "harm"})
	if tool.CodeOf(err) != tool.CodeApprovalDenied || shown != "would run in "+s.ID() {
		t.Errorf("%v, shown %q", err, shown)
	}
	if _, err := inner.Preview(t.Context(), tool.Call{Name: "harm"}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a preview without a grant: %v", err)
	}
	if _, err := inner.Preview(t.Context(), tool.Call{Name: "plain"}); !errors.Is(err, tool.ErrNoPreview) {
		t.Errorf("a tool without a preview: %v", err)
	}
}
