package main

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a caller may have is the most that it gets, and it gets nothing that it did not
// ask for.
func TestCallerPolicy(t *testing.T) {
	t.Parallel()
	h, err := host.New()
	if err != nil {
		t.Fatal(err)
	}
	run := func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("done"), nil }
	for _, d := range []tool.Definition{
		{Name: "reads", Description: "Reads.", Safety: tool.Safe, Permission: tool.FSRead},
		{Name: "destroys", Description: "Destroys.", Safety: tool.Dangerous},
	} {
		if err := h.Register(tool.Tool{Definition: d, Handler: run}); err != nil {
			t.Fatal(err)
		}
	}
	asked := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	})
	reads := []tool.Capability{tool.Net, tool.FSRead}
	for name, c := range map[string]struct {
		policy callerPolicy
		call   control.Call
		asked  policy.Approver
		want   tool.Code
	}{
		"the operator's grant":  {callerPolicy{all: true}, control.Call{Name: "reads", Grants: reads}, nil, ""},
		"a grant":               {callerPolicy{grants: []tool.Capability{tool.FSRead}}, control.Call{Name: "reads", Grants: reads}, nil, ""},
		"a grant not asked for": {callerPolicy{grants: []tool.Capability{tool.FSRead}}, control.Call{Name: "reads"}, nil, tool.CodePermissionDenied},
		"another's grant":       {callerPolicy{grants: []tool.Capability{tool.FSWrite}}, control.Call{Name: "reads", Grants: reads}, nil, tool.CodePermissionDenied},
		"the operator's yes":    {callerPolicy{all: true}, control.Call{Name: "destroys", Yes: true}, nil, ""},
		"a yes":                 {callerPolicy{yes: true}, control.Call{Name: "destroys", Yes: true}, nil, ""},
		"a yes not said":        {callerPolicy{yes: true}, control.Call{Name: "destroys"}, nil, tool.CodeApprovalRequired},
		"a yes that is none":    {callerPolicy{}, control.Call{Name: "destroys", Yes: true}, asked, tool.CodeApprovalRequired},
		"a yes when asked":      {callerPolicy{}, control.Call{Name: "destroys"}, asked, ""},
	} {
		answer := callAs(t.Context(), h, c.call, c.policy, c.asked)
		equal(t, name, tool.CodeOf(answer.Err), c.want)
		if code := tool.CodeOf(answer.Err); code != "" && (answer.Outcome.Error == nil || answer.Outcome.Error.Message != answer.Err.Error()) {
			t.Errorf("%s: the outcome says %+v, the error %v", name, answer.Outcome.Error, answer.Err)
		}
	}
}
