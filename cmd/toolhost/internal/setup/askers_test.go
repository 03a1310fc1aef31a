package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The tool says who is asked, else the caller, else approvals; the first that can be, is.
func TestAskers(t *testing.T) {
	t.Parallel()
	c := parsed(t, []byte(`
approvals: {ask: [terminal]}
callers:
  agent: {ask: [client, queue], uid: 1001}
tools:
  db.drop: {ask: [queue, terminal]}
  old: {rename: new, ask: [client]}
`))
	says := func(who string, err error) policy.Approver {
		return policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Verdict: policy.Deny, By: who}, err
		})
	}
	cannot := says("", fmt.Errorf("the client shows no questions: %w", policy.ErrCannotAsk))
	all := Askers{Client: says("client", nil), Terminal: says("terminal", nil), Queue: says("queue", nil)}
	mute := Askers{Client: cannot, Terminal: all.Terminal, Queue: all.Queue}
	for _, one := range []struct {
		caller, tool string
		can          Askers
		by           string
	}{
		{"cli", "any", all, "terminal"},
		{"cli", "db.drop", all, "queue"},
		{"agent", "any", all, "client"},
		{"agent", "any", mute, "queue"},
		{"agent", "db.drop", all, "queue"},
		{"agent", "db.drop", Askers{Client: all.Client, Terminal: all.Terminal}, "terminal"},
		{"cli", "new", all, "client"},
		{"cli", "old", all, "terminal"},
		{"cli", "new", mute, ""},
		{"agent", "any", Askers{Terminal: all.Terminal}, ""},
	} {
		d, err := CallerOf(c, one.caller).Approver(one.can).Approve(t.Context(), policy.Request{Definition: tool.Definition{Name: one.tool}})
		if d.By != one.by || errors.Is(err, policy.ErrCannotAsk) != (one.by == "") {
			t.Errorf("%s, %s: %q was asked, %v", one.caller, one.tool, d.By, err)
		}
	}
	if a := CallerOf(c, "agent").Approver(Askers{}); a != nil {
		t.Error("there is an approver, and no one can be asked")
	}
}

// A refusal because no one can be asked says why, and what the person who reads it can do; it is not
// a denial, and no one is on record for it.
func TestNoOneCanBeAsked(t *testing.T) {
	t.Parallel()
	h := require.Must(host.New())(t)
	require.NoError(t, h.Register(tool.Tool{
		Definition: tool.Definition{Name: "drop", Description: "Drops it."},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("dropped"), nil },
	}))
	mute := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{}, fmt.Errorf("quiet 1.0 shows no questions: %w", policy.ErrCannotAsk)
	})
	for text, want := range map[string][]string{
		"": {"quiet 1.0 shows no questions", "set ask: [client, queue] for the caller agent", "approval: allow"},
		"approvals: {ask: [client, queue]}": {
			"quiet 1.0 shows no questions", "; no daemon runs that could keep the question", "start the daemon with toolhost serve",
		},
	} {
		caller := host.Caller{Name: "agent", Via: "mcp"}
		s := h.Session(host.WithCaller(caller), host.WithApprover(CallerOf(parsed(t, []byte(text)), "agent").Approver(Askers{Client: mute})))
		out, _, err := s.CallWith(t.Context(), tool.Call{Name: "drop"}, host.CallOptions{})
		if tool.CodeOf(err) != tool.CodeApprovalRequired || !strings.HasPrefix(out.Content, "tool drop needs approval, and no one can be asked: ") {
			t.Errorf("%q: %v", text, err)
		}
		for _, part := range want {
			if !strings.Contains(out.Content, part) || strings.Count(err.Error(), part) != 1 {
				t.Errorf("%q: a model reads %q\na person %q\nwant once %q", text, out.Content, err, part)
			}
		}
	}
}
