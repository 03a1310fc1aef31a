package session

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a caller may have is the most that it gets, and it gets nothing that it did not
// ask for.
func TestAllowance(t *testing.T) {
	t.Parallel()
	h := require.Must(host.New())(t)
	run := func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("done"), nil }
	for _, d := range []tool.Definition{
		{Name: "reads", Description: "Reads.", Safety: tool.Safe, Permission: tool.FSRead},
		{Name: "destroys", Description: "Destroys.", Safety: tool.Dangerous},
	} {
		require.NoError(t, h.Register(tool.Tool{Definition: d, Handler: run}))
	}
	asked := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	})
	reads := []tool.Capability{tool.Net, tool.FSRead}
	for name, c := range map[string]struct {
		may   Allowance
		call  control.Call
		asked policy.Approver
		want  tool.Code
	}{
		"the operator's grant":  {Allowance{All: true}, control.Call{Name: "reads", Grants: reads}, nil, ""},
		"a grant":               {Allowance{Grants: []tool.Capability{tool.FSRead}}, control.Call{Name: "reads", Grants: reads}, nil, ""},
		"a grant not asked for": {Allowance{Grants: []tool.Capability{tool.FSRead}}, control.Call{Name: "reads"}, nil, tool.CodePermissionDenied},
		"another's grant":       {Allowance{Grants: []tool.Capability{tool.FSWrite}}, control.Call{Name: "reads", Grants: reads}, nil, tool.CodePermissionDenied},
		"the operator's yes":    {Allowance{All: true}, control.Call{Name: "destroys", Yes: true}, nil, ""},
		"a yes":                 {Allowance{Yes: true}, control.Call{Name: "destroys", Yes: true}, nil, ""},
		"a yes not said":        {Allowance{Yes: true}, control.Call{Name: "destroys"}, nil, tool.CodeApprovalRequired},
		"a yes that is none":    {Allowance{}, control.Call{Name: "destroys", Yes: true}, asked, tool.CodeApprovalRequired},
		"a yes when asked":      {Allowance{}, control.Call{Name: "destroys"}, asked, ""},
	} {
		answer := CallAs(t.Context(), h, c.call, c.may, setup.Askers{Client: c.asked})
		assert.Equalf(t, tool.CodeOf(answer.Err), c.want, "%s", name)
		if code := tool.CodeOf(answer.Err); code != "" && (answer.Outcome.Error == nil || answer.Outcome.Error.Message != tool.ModelText(answer.Err, c.call.Name)) {
			t.Errorf("%s: the outcome says %+v, the error %v", name, answer.Outcome.Error, answer.Err)
		}
	}
}
